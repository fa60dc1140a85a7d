package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// fileSuffix ends the name of the variable that names the file of a secret.
const fileSuffix = "_FILE"

// credentials is the variable by which systemd names the directory of a service's
// credentials (LoadCredential=).
const credentials = "CREDENTIALS_DIRECTORY"

// secretMax bounds a file that holds a secret, in bytes.
const secretMax = 64 << 10

// findSecret reads a secret: the variable of its name, else the file that the variable
// with _FILE names, else systemd's credential, which is called as the variable is, in lower
// case. origin says which; empty: there is none.
func findSecret(getenv func(string) string, name string) (value, origin string, err error) {
	if value := getenv(name); value != "" {
		return value, "environment", nil
	}
	file := getenv(name + fileSuffix)
	origin = "file " + file
	if dir := getenv(credentials); file == "" && dir != "" {
		file = filepath.Join(dir, strings.ToLower(name))
		if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
			return "", "", nil
		}
		origin = "credential " + file
	}
	if file == "" {
		return "", "", nil
	}
	if value, err = readSecret(file); err != nil {
		return "", origin, fmt.Errorf("%s cannot be read from the file %s: %w", name, file, err)
	}
	return value, origin, nil
}

// pemBegin begins a secret that has several lines.
const pemBegin = "-----BEGIN "

// readSecret reads a file of one line, or of a key.
func readSecret(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", cause(err)
	}
	defer func() { _ = f.Close() }() // it was read only
	body, err := io.ReadAll(io.LimitReader(f, secretMax+1))
	if err != nil {
		return "", cause(err)
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(body), "\n"), "\r")
	switch {
	case len(body) > secretMax:
		return "", fmt.Errorf("it has more than %d bytes, want the secret alone", secretMax)
	case value == "":
		return "", errors.New("it is empty, want the secret in one line")
	case strings.ContainsAny(value, "\r\n\x00") && !strings.HasPrefix(value, pemBegin):
		return "", errors.New("it has more than one line, want the secret alone")
	}
	return value, nil
}

// cause is an error of a file without the file's name.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// ofRole ends the name of a setting that there is for each role.
const ofRole = "<ROLE>"

// fieldOf is the field of Settings that a variable sets; nil: none.
func fieldOf(name string) *reflect.StructField {
	for _, f := range declared() {
		whole := Prefix + f.Tag.Get("env")
		family, each := strings.CutSuffix(whole, ofRole)
		if name == whole || each && name != family && strings.HasPrefix(name, family) {
			return &f
		}
	}
	return nil
}

// isSecret reports whether a variable sets what is secret.
func isSecret(name string) bool {
	f := fieldOf(name)
	return f != nil && strings.HasSuffix(f.Type.String(), "secret.String") // or a map of them
}

// secretNames are the names of the secrets that an environment has, in whatever place.
func secretNames(set map[string]string) (out []string) {
	all := slices.Collect(maps.Keys(set))
	files, _ := os.ReadDir(set[credentials]) // without it there are none
	for _, file := range files {
		all = append(all, strings.ToUpper(file.Name()))
	}
	for _, name := range all {
		if name = strings.TrimSuffix(name, fileSuffix); isSecret(name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fillSecrets puts the secrets that are in files beside the variables of an environment. It
// returns where each secret comes from, by name.
func fillSecrets(have map[string]string) (origins map[string]string, err error) {
	origins = map[string]string{}
	getenv := func(name string) string { return have[name] }
	var errs []error
	for _, name := range secretNames(have) {
		value, origin, err := findSecret(getenv, name)
		errs = append(errs, err)
		if origin != "" {
			have[name], origins[name] = value, origin
		}
	}
	return origins, errors.Join(errs...)
}
