package wiring

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// wrongVariables says in words which settings have values of a wrong form.
func wrongVariables(err error, have *values) error {
	var all env.AggregateError
	if !errors.As(err, &all) {
		return err
	}
	var errs []error
	for _, one := range all.Errors {
		var p env.ParseError
		if errors.As(one, &p) {
			f, _ := reflect.TypeFor[Settings]().FieldByName(p.Name)
			name := Prefix + f.Tag.Get("env")
			one = fmt.Errorf("%s: %w", have.named(name), p.Err)
			if form, ok := forms()[f.Type]; ok {
				one = fmt.Errorf("%s is %q: write %s", have.named(name), have.set[name], form)
			}
		}
		errs = append(errs, one)
	}
	return errors.Join(errs...)
}

// forms are what values look like. Types of this package say it in their own errors.
func forms() map[reflect.Type]string {
	const span = "a span of time such as 500ms, 30s, 5m or 1h"
	return map[reflect.Type]string{
		reflect.TypeFor[bool]():              "true or false",
		reflect.TypeFor[int]():               "a whole number such as 2",
		reflect.TypeFor[time.Duration]():     span,
		reflect.TypeFor[[]time.Duration]():   "spans of time such as 30s,2m,10m",
		reflect.TypeFor[[]netip.Prefix]():    "networks such as 127.0.0.1/32,10.0.0.0/8",
		reflect.TypeFor[map[string]string](): "pairs such as key:value,key:value",
	}
}

// unknown is the error of variables that look like settings and are none.
func unknown(environ []string) error {
	var known []string
	for _, key := range knownKeys(settingFields()) {
		known = append(known, Prefix+strings.ToUpper(key))
	}
	var errs []error
	for _, name := range strangers(environ) {
		errs = append(errs, fmt.Errorf("%s is no setting of this program%s (config lists all)", name, nearest(name, known)))
	}
	return errors.Join(errs...)
}

// CheckRepos looks whether the repositories that settings name are registered, and whether
// those that are registered can be reached with the settings.
func (s Settings) CheckRepos(p *task.Projects) error {
	var known []string
	for _, one := range p.All() {
		known = append(known, one.Repo)
	}
	var errs []error
	for _, list := range []struct {
		name  string
		repos []string
	}{{"SERIAL_GATE_REPOS", s.SerialGateRepos}, {"MERGE_GATE_REPOS", s.MergeGateRepos}} {
		for _, repo := range list.repos {
			if _, ok := p.ByRepo(repo); !ok && repo != "*" {
				errs = append(errs, fmt.Errorf("%s%s names %q, which is not in %s%s It has %s; * is all",
					Prefix, list.name, repo, s.Projects, strings.Replace(nearest(repo, known)+".", "?.", "?", 1), strings.Join(known, ", ")))
			}
		}
	}
	for _, one := range p.All() {
		if one.HostName() == task.HostGitHub && !s.signsInToGitHub() {
			errs = append(errs, fmt.Errorf("%sGITHUB_TOKEN is not set, and %s is on GitHub; a repository without a git host has host: git in %s", Prefix, one.Repo, s.Projects))
			break
		}
	}
	return errors.Join(errs...)
}
