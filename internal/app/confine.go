package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// confinement holds the result of a start's search for a jail.
type confinement struct {
	Proof   jail.Proof // of the self-test; zero with ORCH_JAIL=none
	Without []string   // what was looked for and cannot be had here, with the reasons
	Cgroup  string     // what the cgroup of a run does; empty = there is none
	jail    *work.Jail // nil: agents are not confined
	loud    error      // what is to be said about that everywhere; nil = they are
}

// kind is the value of ORCH_JAIL that names what was found.
func (c confinement) kind() string {
	if c.jail == nil {
		return jailNone
	}
	return cmp.Or(c.Proof.Box, jailLandlock)
}

// String names the walls that were found for people.
func (c confinement) String() string {
	if c.jail == nil {
		return "agents and checks are not confined"
	}
	parts := []string{c.Proof.String()}
	if c.Cgroup != "" {
		parts = append(parts, c.Cgroup)
	}
	return strings.Join(slices.Concat(parts, c.Without), "; ")
}

// confine finds the best jail that this machine proves to have, and sets what agents and
// checks may touch.
func (v *Service) confine(ctx context.Context, program []string) error {
	s := v.Settings
	if s.Jail == jailNone {
		v.walls.loud = errors.New("agents and checks are not confined (ORCH_JAIL=none): they can read and do what the service can")
		if s.limitsEgress() {
			v.walls.loud = fmt.Errorf("%w; %s", v.walls.loud, v.walls.egress(s))
		}
		v.Log.Warn("agents are not confined", "setting", "ORCH_JAIL")
		return nil
	}
	if err := cmp.Or(s.Prepare(), v.mendModes()); err != nil {
		return fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	group := ""
	if s.JailCgroup != jailNone {
		g, err := jail.Delegated(ctx, strings.TrimPrefix(s.JailCgroup, jailAuto))
		switch {
		case err == nil:
			group, v.walls.Cgroup = g.Dir, g.String()
		case s.JailCgroup != jailAuto:
			return fmt.Errorf("%sJAIL_CGROUP: %w", Prefix, err)
		default:
			v.walls.Without = append(v.walls.Without, "no cgroup ("+err.Error()+"): limits are those of single processes")
		}
	}
	var failed error
	for _, kind := range s.jailKinds() {
		err := v.confineBy(ctx, program, kind, group)
		if err == nil {
			v.Log.Info("agents are confined", "by", v.walls.String(), "network", v.walls.egress(s))
			return nil
		}
		failed = err
		v.walls.Without = append(v.walls.Without, fmt.Sprintf("no %s (%v)", kind, err))
		if !confinable(err) {
			break
		}
	}
	if !confinable(failed) || errors.As(failed, new(*fs.PathError)) { // the kernel lacks nothing
		return fmt.Errorf("ORCH_JAIL=%s: whether agents can be confined here cannot be seen: %w", s.Jail, failed)
	}
	return fmt.Errorf("ORCH_JAIL=%s: agents cannot be confined here: %w; ORCH_JAIL=none runs them all the same, "+
		"with all that the service's user may do", s.Jail, failed)
}

// jailKinds are the values of ORCH_JAIL to be tried, the best first.
func (s Settings) jailKinds() (list []string) {
	if s.Jail != jailAuto {
		return []string{s.Jail}
	}
	if s.JailImage != "" {
		list = append(list, jailContainer)
	}
	if !s.JailSockets { // in namespaces there are only those that are listed
		list = append(list, jailBwrap)
	}
	return append(list, jailLandlock)
}

// settingError is about what somebody has set: no other jail would be better.
type settingError struct{ error }

// Unwrap gives the cause.
func (e settingError) Unwrap() error { return e.error }

func confinable(err error) bool { return !errors.As(err, new(settingError)) }

// confineBy proves one kind of jail.
func (v *Service) confineBy(ctx context.Context, program []string, kind, group string) error {
	s := v.Settings
	j, err := s.jail(kind == jailContainer)
	if err != nil {
		return settingError{err}
	}
	if j.Box, err = s.box(kind); err != nil {
		return err
	}
	if kind == jailContainer { // no link leads there
		if v.Settings.DataDir, err = resolved(s.DataDir); err != nil {
			return err
		}
		s = v.Settings
	}
	j.Cgroup, j.Limits = group, work.Limits{Memory: int64(s.JailMemoryMB) << 20, Processes: s.JailProcesses, CPUWeight: s.JailCPUWeight}
	j = s.limited(j, kind)
	proof, err := jail.Prove(ctx, append(slices.Clone(program), "agent-shim"), s.DataDir, j)
	if err != nil {
		return err
	}
	if proof.Weak != "" {
		v.walls.loud = errors.New("agents and checks are confined in part: " + proof.Weak)
	}
	v.walls.Proof, v.walls.jail = proof, &j
	return nil
}

// box is the program around agents, found on this machine.
func (s Settings) box(kind string) (b work.Box, err error) {
	switch kind {
	case jailBwrap:
		b.Kind = kind
		if b.Program, err = exec.LookPath("bwrap"); err != nil {
			return b, errors.New("bubblewrap is not installed (the program bwrap)")
		}
	case jailContainer:
		b = work.Box{Kind: kind, Image: s.JailImage, Network: s.JailNetwork}
		for _, name := range []string{s.JailEngine, "podman", "docker"} {
			if name == "" || b.Program != "" || s.JailEngine != "" && name != s.JailEngine {
				continue
			}
			if path, err := exec.LookPath(name); err == nil {
				b.Program = path
			}
		}
		if b.Program == "" {
			return b, fmt.Errorf("there is no %s: install podman or docker, or name the program in %sJAIL_ENGINE",
				cmp.Or(s.JailEngine, "podman or docker"), Prefix)
		}
		for _, pair := range os.Environ() {
			if name, _, _ := strings.Cut(pair, "="); ofEngine(name) {
				b.Env = append(b.Env, pair)
			}
		}
	}
	if b.Program != "" {
		b.Program, err = filepath.Abs(b.Program)
	}
	return b, err
}

// ofEngine reports whether a variable says how an engine is reached, and where its images
// are.
func ofEngine(name string) bool {
	names := []string{"HOME", "PATH", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR"}
	families := []string{"DOCKER_", "CONTAINER_", "CONTAINERS_", "STORAGE_"}
	return slices.Contains(names, name) ||
		slices.ContainsFunc(families, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
