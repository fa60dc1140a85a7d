package app

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/caarlos0/env/v11"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/signalbox-dev/signalbox/internal/yamlplace"
)

// The settings file is found at configVariable, else in the working directory, else in the
// directory of the system; one of them is read, never two.
const (
	configVariable = Prefix + "CONFIG"
	localConfig    = "signalbox.yaml"
	systemConfig   = "/etc/signalbox/signalbox.yaml"
	noConfig       = "none"
)

// configMax bounds a settings file, in bytes.
const configMax = 1 << 20

// values holds what the environment, files of secrets and the settings file say.
type values struct {
	environ []string
	set     map[string]string // by the names of variables
	origins map[string]string // of those that are not variables
	lines   map[string]string // file:line of those of the settings file
	file    string            // the settings file; empty: none
}

// named is a setting in errors: as its file calls it, with the line, or as the variable.
func (v *values) named(name string) string {
	if line, ok := v.lines[name]; ok {
		return line + ": " + keyOf(name)
	}
	return name
}

// keyOf is a setting's name in the settings file.
func keyOf(name string) string { return strings.ToLower(strings.TrimPrefix(name, Prefix)) }

// readValues reads all that settings come from. A variable goes before a file of a secret, and
// this before the settings file.
func readValues(environ []string) (*values, error) {
	v := &values{environ: environ, set: env.ToMap(environ), lines: map[string]string{}}
	var errSecrets, errFile error
	v.origins, errSecrets = fillSecrets(v.set)
	v.file, errFile = findConfig(v.set)
	if errFile == nil && v.file != "" {
		errFile = v.readConfig()
	}
	return v, errors.Join(errSecrets, errFile)
}

// Given returns the value of a setting, by its whole name, where anything but a default has it.
func Given(environ []string, name string) (value string, given bool, err error) {
	v, err := readValues(environ)
	value, given = v.set[name]
	return value, given, err
}

// findConfig names the settings file; empty: there is none.
func findConfig(set map[string]string) (string, error) {
	if name := set[configVariable]; name != "" {
		return strings.TrimPrefix(name, noConfig), nil
	}
	for _, name := range []string{localConfig, systemConfig} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if ok && name == localConfig && owner.Uid != 0 && int(owner.Uid) != os.Geteuid() {
			return "", fmt.Errorf("%s belongs to another user, and decides what is run: name it in %s, or remove it", name, configVariable)
		}
		return name, nil
	}
	return "", nil
}

// readConfig adds what the settings file has and nothing before it.
func (v *values) readConfig() error {
	f, err := os.Open(v.file)
	if err != nil {
		return fmt.Errorf("%s: %w", configVariable, err)
	}
	defer func() { _ = f.Close() }() // it was read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(f, configMax+1))
	switch mode := info.Mode().Perm(); {
	case err != nil:
		return err
	case len(body) > configMax:
		return fmt.Errorf("%s has more than %d bytes, want settings alone", v.file, configMax)
	case mode&0o002 != 0:
		return fmt.Errorf("%s has the mode %04o, and may be written by others: chmod o-w %s", v.file, mode, v.file)
	}
	tree, err := parser.ParseBytes(body, 0)
	if err != nil {
		return fmt.Errorf("%s:%d: %s", v.file, yamlplace.Of(err), yamlplace.Short(err))
	}
	var errs []error
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		pairs, ok := doc.Body.(ast.MapNode)
		if !ok {
			return fmt.Errorf("%s:%d: want settings, as listen: 127.0.0.1:8080", v.file, doc.Body.GetToken().Position.Line)
		}
		for at := pairs.MapRange(); at.Next(); {
			errs = append(errs, v.take(at.KeyValue(), info.Mode()))
		}
	}
	return errors.Join(errs...)
}

// take adds one line of the settings file.
func (v *values) take(pair *ast.MappingValueNode, mode fs.FileMode) error {
	at := pair.Key.GetToken()
	line, key := fmt.Sprintf("%s:%d", v.file, at.Position.Line), at.Value
	name := Prefix + strings.ToUpper(key)
	f := fieldOf(name)
	switch {
	case name == configVariable:
		return fmt.Errorf("%s: %s names this file: set %s in the environment", line, key, configVariable)
	case f == nil:
		return fmt.Errorf("%s: %s is no setting of this program%s (config lists all, without %s and in lower case here)",
			line, key, strings.ToLower(strings.Replace(nearest(Prefix+keyOf(key), settingNames()), Prefix, "", 1)), Prefix)
	case v.lines[name] != "":
		return fmt.Errorf("%s: %s is set twice, before at %s", line, key, v.lines[name])
	case isSecret(name) && mode.Perm()&0o004 != 0:
		return fmt.Errorf("%s: %s is a secret, and all users may read the file: chmod o-r %s, "+
			"or put the secret into a file of its own (%s)", line, key, v.file, name+fileSuffix)
	}
	text, err := scalar(pair.Value, f)
	if err != nil {
		return fmt.Errorf("%s: %s %w", line, key, err)
	}
	if _, before := v.set[name]; before {
		return nil
	}
	v.set[name], v.origins[name], v.lines[name] = text, line, line
	return nil
}

// scalar is a value as a variable would have it: a list with commas.
func scalar(n ast.Node, f *reflect.StructField) (string, error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || f.Type.Kind() != reflect.Slice && f.Type.Kind() != reflect.Map {
		return word(n)
	}
	var out []string
	for _, one := range list.Values {
		text, err := word(one)
		if err == nil && strings.Contains(text, ",") {
			err = fmt.Errorf("has an entry with a comma, %q: make entries of it", text)
		}
		if err != nil {
			return "", err
		}
		out = append(out, text)
	}
	return strings.Join(out, ","), nil
}

func word(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.NullNode:
		return "", errors.New("has no value: give it one, or remove the line")
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.SequenceNode:
		return "", errors.New("is a list, want one value")
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", errors.New("has a value of another form, want a word, a number or a list of them")
}

// declared are the fields that are settings, in order: those of Settings and of the options within it.
func declared() (out []reflect.StructField) {
	var walk func(t reflect.Type, at []int)
	walk = func(t reflect.Type, at []int) {
		for i := range t.NumField() {
			f := t.Field(i)
			f.Index = append(slices.Clone(at), i)
			switch {
			case f.Tag.Get("env") != "":
				out = append(out, f)
			case f.IsExported() && f.Type.Kind() == reflect.Struct:
				walk(f.Type, f.Index)
			}
		}
	}
	walk(reflect.TypeFor[Settings](), nil)
	return out
}

// settingNames lists all, in order.
func settingNames() (out []string) {
	for _, f := range declared() {
		out = append(out, Prefix+f.Tag.Get("env"))
	}
	return out
}

// Setting is one line of a listing.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"default"`
	Origin  string `json:"origin"`
	Doc     string `json:"meaning"`
	Secret  bool   `json:"secret"` // Value is masked
}

// List shows every setting with its value, default and origin. Secrets are
// masked; those whose files cannot be read have an origin and no value.
func List(environ []string) []Setting {
	v, _ := readValues(environ) // Load says what is wrong
	var out []Setting
	names := settingNames()
	for _, name := range secretNames(v.set) {
		if !slices.Contains(names, name) {
			names = append(names, name) // of a role
		}
	}
	for _, name := range names {
		tag := fieldOf(name).Tag
		s := Setting{Name: name, Default: tag.Get("envDefault"), Origin: "default", Doc: tag.Get("doc"), Secret: isSecret(name)}
		s.Value = s.Default
		if value, set := v.set[name]; set {
			s.Value, s.Origin = value, cmp.Or(v.origins[name], "environment")
		}
		if s.Secret && s.Value != "" {
			s.Value = "***"
		}
		out = append(out, s)
	}
	return out
}

// policy returns what is set, without secrets, and the program, for the journal: decisions are made by it.
func (s Settings) policy() map[string]string {
	out := map[string]string{"program": Version()}
	for _, name := range settingNames() {
		if !isSecret(name) && s.from != nil && s.from.set[name] != "" {
			out[name] = s.from.set[name]
		}
	}
	return out
}

// nearest is the known name that is most like a mistyped one, and how that is said;
// empty when none is near.
func nearest(name string, known []string) string {
	best, least := "", max(2, len(name)/3)
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is how many letters are to be put in, left out or exchanged to make one name
// of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for k := range row {
		row[k] = k
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for k := range len(b) {
			change := before
			if a[i] != b[k] {
				change++
			}
			before = row[k+1]
			row[k+1] = min(change, row[k]+1, row[k+1]+1)
		}
	}
	return row[len(b)]
}

// EnvFile is the file of the working directory that settings are read from. A variable of
// the environment, also one that names the file of a secret, goes before it.
const EnvFile = "signalbox.env"

// variable is a line of an EnvFile.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ReadEnvFile reads lines of NAME=value; lines that are empty or begin with # are left out. It
// has secrets and decides what is run, so an error is what others than its owner may read or
// write, and what is not this user's. A file that is not there has none.
func ReadEnvFile(name string) (pairs []string, err error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file", name)
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("%s has the mode %04o, and may be read or written by others: chmod 600 %s", name, info.Mode().Perm(), name)
	case ok && int(owner.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user: run the service as its owner, or remove it", name)
	}
	body, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	number := 0
	for line := range strings.Lines(string(body)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		left, value, found := strings.Cut(line, "=")
		if !found || !variable.MatchString(left) {
			return nil, fmt.Errorf("%s:%d: want NAME=value", name, number)
		}
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		pairs = append(pairs, left+"="+value)
	}
	return pairs, nil
}

// UseEnvFile adds the EnvFile of the working directory to the environment of this process.
func UseEnvFile() error {
	pairs, err := ReadEnvFile(EnvFile)
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		_, set := os.LookupEnv(name)
		_, filed := os.LookupEnv(name + fileSuffix)
		if !set && !filed {
			err = errors.Join(err, os.Setenv(name, value))
		}
	}
	return err
}
