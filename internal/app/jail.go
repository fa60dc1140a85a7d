package app

import (
	"context"
	"fmt"
	"net"
	"os"
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
	if !slices.Contains([]string{jailAuto, jailContainer, jailBwrap, jailLandlock, jailNone}, s.Jail) {
		wrong("JAIL", "is %q, want auto, container, bwrap, landlock or none", s.Jail)
	}
	if s.Jail == jailContainer && s.JailImage == "" {
		wrong("JAIL_IMAGE", "is missing: the image that agents' containers are made of")
	}
	if strings.HasPrefix(s.JailImage, "-") {
		wrong("JAIL_IMAGE", "is %q, want the name of an image", s.JailImage)
	}
	if s.JailCgroup != jailAuto && s.JailCgroup != jailNone && !filepath.IsAbs(s.JailCgroup) {
		wrong("JAIL_CGROUP", "is %q, want auto, none, or the absolute path of a cgroup's directory", s.JailCgroup)
	}
	if s.JailMemoryMB < 0 || s.JailMemoryMB > 0 && s.JailMemoryMB < jailMemoryMin {
		wrong("JAIL_MEMORY_MB", "is %d, want 0 or at least %d", s.JailMemoryMB, jailMemoryMin)
	}
	if s.JailProcesses < 0 || s.JailProcesses > 0 && s.JailProcesses < jailProcessesMin {
		wrong("JAIL_PROCESSES", "is %d, want 0 or at least %d: a tool's threads count", s.JailProcesses, jailProcessesMin)
	}
	if s.JailCPUWeight < 0 || s.JailCPUWeight > 10000 {
		wrong("JAIL_CPU_WEIGHT", "is %d, want 0 to 10000", s.JailCPUWeight)
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

// What is less than this lets no agent start.
const (
	jailMemoryMin    = 64 // MiB
	jailProcessesMin = 32
)

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
