package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Values of ORCH_JAIL, and of JAIL_PORTS and JAIL_CGROUP.
const (
	jailAuto      = "auto" // the best one that this machine has
	jailContainer = work.BoxContainer
	jailBwrap     = work.BoxBubblewrap
	jailLandlock  = "landlock"
	jailNone      = "none"
)

// JailSettings say what agents and checks may touch.
type JailSettings struct {
	Jail          string   `env:"JAIL" envDefault:"auto" oneof:"auto,container,bwrap,landlock,none" doc:"how agents and checks are confined: auto (the best that this machine has, else refuse to start), container, bwrap, landlock, or none"`
	JailRead      []string `env:"JAIL_READ" doc:"further directories and files that agents may read and run"`
	JailWrite     []string `env:"JAIL_WRITE" doc:"further ones that agents may change, such as caches; they share them"`
	JailPorts     ports    `env:"JAIL_PORTS" envDefault:"22,80,443,32768-60999" doc:"TCP ports that agents may connect to, and listen at from 1024 up, or none; never the server's own"`
	JailSockets   bool     `env:"JAIL_UNIX_SOCKETS" envDefault:"false" doc:"agents may use all unix sockets: docker's is a way out"`
	JailImage     string   `env:"JAIL_IMAGE" doc:"image whose containers agents and checks run in; it has their tools, and is not pulled"`
	JailEngine    string   `env:"JAIL_ENGINE" doc:"podman, docker, or the path of one; empty = the first of them in PATH"`
	JailNetwork   string   `env:"JAIL_NETWORK" doc:"network of containers; empty = what the engine takes by itself"`
	Egress        string   `env:"EGRESS" envDefault:"off" oneof:"off,allow-list" doc:"hosts that agents and checks may reach: off (all, by JAIL_PORTS), or allow-list (those of the registry's egress, by a proxy for each run)"`
	JailCgroup    string   `env:"JAIL_CGROUP" envDefault:"auto" doc:"delegated cgroup (v2) in which each run gets its own: auto (the server's own, where it is delegated), none, or its directory"`
	JailMemoryMB  int      `env:"JAIL_MEMORY_MB" envDefault:"0" min:"64" zero:"true" doc:"memory of a run in MiB, where a cgroup or container keeps it; 0 = no limit"`
	JailProcesses int      `env:"JAIL_PROCESSES" envDefault:"4096" min:"32" zero:"true" why:": a tool's threads count" doc:"processes and threads of a run, where a cgroup or container keeps it; 0 = no limit"`
	JailCPUWeight int      `env:"JAIL_CPU_WEIGHT" envDefault:"0" min:"0" max:"10000" doc:"share of the processor of a run beside 100 of others, 1 to 10000, where a cgroup or a container keeps it; 0 = 100"`
}

// ports are TCP ports and ranges of them.
type ports []work.Ports

// UnmarshalText reads 22,443,32768-60999, or none.
func (p *ports) UnmarshalText(text []byte) error {
	*p = ports{}
	if string(text) == jailNone {
		return nil
	}
	for one := range strings.SplitSeq(string(text), ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(one), "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.ParseUint(low, 10, 16)
		last, err2 := strconv.ParseUint(high, 10, 16)
		if err1 != nil || err2 != nil || first < 1 || first > last {
			return fmt.Errorf("%q, want ports from 1 to 65535 and ranges of them, such as 22,443,32768-60999", one)
		}
		*p = append(*p, work.Ports{First: uint16(first), Last: uint16(last)})
	}
	return nil
}

// ownPorts are those that the service listens at, by setting.
func (s Settings) ownPorts() map[string]uint16 {
	out := map[string]uint16{}
	for name, address := range map[string]string{"LISTEN": s.Listen, "HOOKS_LISTEN": s.HooksListen} {
		_, text, err := net.SplitHostPort(address)
		if err != nil {
			continue // unset, or the listener says what is wrong
		}
		if port, err := (&net.Resolver{}).LookupPort(context.Background(), "tcp", text); err == nil && port > 0 {
			out[name] = uint16(port)
		}
	}
	return out
}

// checkJail reports what is wrong with the settings of the jail, by their names.
func (s Settings) checkJail(wrong func(name, format string, args ...any)) {
	if s.Jail == jailContainer && s.JailImage == "" {
		wrong("JAIL_IMAGE", "is missing: the image that agents' containers are made of")
	}
	if strings.HasPrefix(s.JailImage, "-") {
		wrong("JAIL_IMAGE", "is %q, want the name of an image", s.JailImage)
	}
	if s.JailCgroup != jailAuto && s.JailCgroup != jailNone && !filepath.IsAbs(s.JailCgroup) {
		wrong("JAIL_CGROUP", "is %q, want auto, none, or the absolute path of a cgroup's directory", s.JailCgroup)
	}
	for name, port := range s.ownPorts() {
		if s.Jail != jailNone && slices.Contains(s.JailPorts, work.Ports{First: port, Last: port}) {
			wrong("JAIL_PORTS", "has %d, the port of %s%s: agents could call the service itself; "+
				"let it listen at another port, or leave this one out", port, Prefix, name)
		}
	}
	for name, list := range map[string][]string{"JAIL_READ": s.JailRead, "JAIL_WRITE": s.JailWrite} {
		for _, path := range list {
			if !filepath.IsAbs(path) {
				wrong(name, "has %q, want absolute paths", path)
			}
		}
	}
	for _, name := range s.AgentHome {
		if !filepath.IsLocal(name) {
			wrong("AGENT_HOME", "has %q, want files below HOME, such as .npmrc", name)
		}
	}
}

// jail returns what every agent and check may touch beside what is its own. The system in a
// container is its image's, and no part of it.
func (s Settings) jail(container bool) (work.Jail, error) {
	j := jail.System()
	data, err := resolved(s.DataDir)
	if err != nil {
		return j, fmt.Errorf("%sDATA_DIR: %w", Prefix, err)
	}
	for _, path := range j.Read {
		if at, err := resolved(path); err == nil && inside(data, at) {
			return j, fmt.Errorf("%sDATA_DIR: %s lies in %s, which agents must be able to read: "+
				"put it elsewhere, into /var/lib/signalbox say", Prefix, data, path)
		}
	}
	listed := map[string][]string{}
	for name, list := range map[string][]string{"JAIL_READ": s.JailRead, "JAIL_WRITE": s.JailWrite} {
		for _, path := range list {
			at, err := resolved(path)
			if err == nil {
				err = closedTo(at, data)
			}
			if err == nil && name == "JAIL_WRITE" {
				err = withoutPrograms(at)
			}
			if err != nil {
				return j, fmt.Errorf("%s%s: %w", Prefix, name, err)
			}
			listed[name] = append(listed[name], at)
		}
	}
	if container {
		j.Read = nil
	}
	j = j.And(work.Jail{Read: listed["JAIL_READ"], Write: listed["JAIL_WRITE"], Ports: s.JailPorts, Sockets: s.JailSockets})
	if self, err := os.Executable(); err == nil {
		j.Read = append(j.Read, self)
	}
	for _, port := range s.ownPorts() {
		j.Closed = append(j.Closed, port)
	}
	return j, nil
}

// closedTo is the error of a path that would open the data directory or the service's
// HOME to agents.
func closedTo(path, data string) error {
	if inside(data, path) || inside(path, data) {
		return fmt.Errorf("%s would open the data directory %s: tasks, tokens and other checkouts are there", path, data)
	}
	own, err := os.UserHomeDir()
	if err == nil {
		own, err = resolved(own)
	}
	if err == nil && inside(own, path) {
		return fmt.Errorf("%s would open the service's HOME %s: "+
			"name the directories in it that agents need, or files to copy in %sAGENT_HOME", path, own, Prefix)
	}
	return nil
}

// withoutPrograms is the error of a path in which agents could change what the service runs outside of the jail.
func withoutPrograms(path string) error {
	self, _ := os.Executable() // else there is none to change
	for _, name := range append(filepath.SplitList(os.Getenv("PATH")), self) {
		if at, err := resolved(name); err == nil { // else an agent could make it
			name = at
		}
		if filepath.IsAbs(name) && inside(name, path) {
			return fmt.Errorf("%s would open %s: agents could put programs there that the service runs; "+
				"name the directories beside it", path, name)
		}
	}
	return nil
}

// resolved is an absolute path without links.
func resolved(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// inside reports whether a path is a directory or lies below it; both are without links.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

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
