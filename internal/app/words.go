package app

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// wrongVariables says in words which settings have values of a wrong form: each is read by itself, for an error of
// the reader names a field and not the options that it is of.
func wrongVariables(all *values) error {
	var errs []error
	for _, f := range declared() {
		name := Prefix + f.Tag.Get("env")
		value, given := all.set[name]
		if !given {
			continue
		}
		_, err := env.ParseAsWithOptions[Settings](env.Options{Environment: map[string]string{name: value}, Prefix: Prefix})
		var wrong env.ParseError
		if !errors.As(err, &wrong) {
			continue
		}
		if form, ok := forms()[f.Type]; ok {
			errs = append(errs, fmt.Errorf("%s is %q: write %s", all.named(name), value, form))
		} else {
			errs = append(errs, fmt.Errorf("%s: %w", all.named(name), wrong.Err))
		}
	}
	return errors.Join(errs...)
}

// forms describes the forms of values. Types of this package say it in their own errors.
func forms() map[reflect.Type]string {
	const span = "a span of time such as 500ms, 30s, 5m or 1h"
	return map[reflect.Type]string{
		reflect.TypeFor[bool]():              "true or false",
		reflect.TypeFor[int]():               "a whole number such as 2",
		reflect.TypeFor[time.Duration]():     span,
		reflect.TypeFor[[]time.Duration]():   "spans of time such as 30s,2m,10m",
		reflect.TypeFor[[]limit.Trusted]():   "networks such as 127.0.0.1/32,10.0.0.0/8, or users such as uid:33",
		reflect.TypeFor[map[string]string](): "pairs such as key:value,key:value",
	}
}

// unknown is the error of variables that look like settings and are none.
func unknown(environ []string) error {
	var errs []error
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, Prefix) && fieldOf(name) == nil && !isSecret(strings.TrimSuffix(name, fileSuffix)) {
			errs = append(errs, fmt.Errorf("%s is no setting of this program%s (config lists all)", name, nearest(name, settingNames())))
		}
	}
	return errors.Join(errs...)
}

// CheckNames looks whether the repositories and roles that settings name are registered, and whether the repositories that are
// registered can be reached with the settings.
func (s Settings) CheckNames(r projectfile.Registry) error {
	p, known := r.Projects, []string(nil)
	for _, one := range p.All() {
		known = append(known, one.Repo)
	}
	var errs []error
	for _, list := range []struct {
		name  string
		repos []string
	}{{"SERIAL_GATE_REPOS", s.Features.SerialGate.Repos}, {"MERGE_GATE_REPOS", s.Features.MergeGate.Repos}} {
		for _, repo := range list.repos {
			if _, ok := p.ByRepo(repo); !ok && repo != "*" {
				near := strings.Replace(nearest(repo, known)+".", "?.", "?", 1)
				errs = append(errs, fmt.Errorf("%s%s names %q, which is not in %s%s It has %s; * is all",
					Prefix, list.name, repo, s.Projects, near, strings.Join(known, ", ")))
			}
		}
	}
	for _, role := range slices.Sorted(maps.Keys(s.Plane.Tokens)) {
		if !slices.Contains(append(r.Pipeline.Roles(), append(stage.Roles(), stage.Stream)...), role) {
			errs = append(errs, fmt.Errorf("%sPLANE_TOKEN_<ROLE>: there is no role %q in the pipeline", Prefix, role))
		}
	}
	for _, n := range s.neighbours(projectfile.Neighbours{}) {
		if i := slices.IndexFunc(p.All(), n.serves); !n.isBoard && i >= 0 && !n.isUsed(p) {
			errs = append(errs, fmt.Errorf("%s is not set, and %s is on %s; a repository without a git host has host: git in %s",
				n.TokenEnv, p.All()[i].Repo, n.title, s.Projects))
		}
	}
	return errors.Join(errs...)
}

// Version returns the version of the program.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// Commit is the revision that the program was built from, with a plus when files had
// been changed since; empty when the build does not record it.
func Commit() (revision string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings { // the revision first
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
			if s.Key == "vcs.modified" && s.Value == "true" {
				revision += "+"
			}
		}
	}
	return revision
}

// links are entries of the dashboard's navigation.
type links []dashboard.Link

// UnmarshalText reads name=address pairs. A comma in an address is written %2C.
func (l *links) UnmarshalText(text []byte) error {
	*l = nil
	for pair := range strings.SplitSeq(string(text), ",") {
		name, address, _ := strings.Cut(pair, "=")
		link := dashboard.Link{Name: strings.TrimSpace(name), URL: strings.TrimSpace(address)}
		if err := link.Check(); err != nil {
			return fmt.Errorf("%q, want name=address such as Board=https://board.example.org/: %w", pair, err)
		}
		*l = append(*l, link)
	}
	return nil
}

// hosts are the names that requests may come under; nil: any.
func (s Settings) hosts() []string {
	if slices.Contains(s.Hosts, "*") {
		return nil
	}
	return append([]string{"localhost"}, s.Hosts...)
}
