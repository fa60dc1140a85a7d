package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/internal/jail/attack"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// attackCommand is the argument by which Security has a program call MakeAttack; the name
// of the attack follows.
const attackCommand = "security-attack"

// sceneVariable hands an attacker its scene, as JSON.
const sceneVariable = "SIGNALBOX_SCENE"

// MakeAttack makes an attack and returns the exit code. It is the main function of the
// agents that Security starts.
func MakeAttack(name string, out io.Writer) int {
	var s attack.Scene
	if err := json.Unmarshal([]byte(os.Getenv(sceneVariable)), &s); err != nil {
		fmt.Fprintf(out, "%s is started by doctor security only: %v\n", attackCommand, err)
		return 1
	}
	return s.Make(name, out)
}

// Results of attacks.
const (
	attackRefused   = "refused"
	attackSucceeded = "SUCCEEDED"
	attackOpen      = "OPEN" // not tried: nothing would stop it, or stop what it does
	attackNotHere   = "not here"
	attackSeen      = "not stopped" // by Landlock; SECURITY.md says so
)

// Attacked holds the result of an attack.
type Attacked struct {
	Attack string      `json:"attack"`
	Result string      `json:"result"`         // refused, SUCCEEDED, OPEN, not stopped or not here
	Wall   attack.Wall `json:"wall,omitempty"` // that has refused it, or that should have
	Said   string      `json:"said,omitempty"` // by the kernel

	aims attack.Wall // the wall that is to stop it
}

// Posture is how agents are confined.
type Posture struct {
	Jail       string `json:"jail"`  // container, bwrap, landlock or none
	Walls      string `json:"walls"` // of it, and what this machine lacks
	ABI        int    `json:"landlock_abi,omitempty"`
	Weak       string `json:"weak,omitempty"` // what this kernel cannot close
	Egress     string `json:"egress"`         // what keeps them from hosts that are not listed
	Seccomp    bool   `json:"seccomp"`        // agents are under a filter of system calls
	NoNewPrivs bool   `json:"no_new_privs"`
	Rights     string `json:"capabilities"` // effective ones of agents, in hexadecimal
	Dumpable   bool   `json:"dumpable"`     // other processes of the user may read this one's memory, where no jail keeps them from it
	UID        int    `json:"uid"`          // of agents, and of the service

	// Vendors whose keys stay in the gateway of models; those of others are within the reach of their agents.
	Gateway []string `json:"keys_in_gateway,omitempty"`
}

// SecurityReport holds what doctor security has found.
type SecurityReport struct {
	Posture   Posture    `json:"posture"`
	Walls     []Standing `json:"walls"`
	Attacks   []Attacked `json:"attacks"`
	Succeeded int        `json:"succeeded"` // or open
}

// Security makes the attacks of package attack against this machine, each as an agent
// under the settings would make it: started by the same shim, in the same jail. What they
// may destroy is a copy, in a directory of DATA_DIR that is removed. Without a jail root
// makes none of them. program is as for Open, and calls MakeAttack.
func Security(ctx context.Context, s Settings, program []string) (SecurityReport, error) {
	v := &Service{Settings: s, Log: slog.New(slog.DiscardHandler)}
	if err := v.confine(ctx, program); err != nil {
		return SecurityReport{}, err
	}
	r := SecurityReport{Posture: Posture{
		Jail:     v.walls.kind(),
		Walls:    v.walls.String(),
		ABI:      v.walls.Proof.ABI,
		Weak:     v.walls.Proof.Weak,
		Egress:   v.walls.egress(s),
		UID:      os.Getuid(),
		Dumpable: dumpable(),
		Gateway:  s.keysInGateway(),
	}}
	dir, err := os.MkdirTemp(s.DataDir, "attack-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	if dir, err = resolved(dir); err != nil {
		return r, err
	}
	if err := v.posture(ctx, program, dir, &r.Posture); err != nil {
		return r, err
	}
	list := attack.All()
	if s.limitsEgress() {
		one, err := v.attack(ctx, program, filepath.Join(dir, "honest"), attack.Honest())
		if err != nil || one.Result != attackSucceeded {
			err = cmp.Or(err, errors.New("it was refused"))
			return r, fmt.Errorf("a listed host cannot be reached by the proxy: %s: %w", one.Said, err)
		}
		list = append(list, attack.OnEgress()...)
	}
	for i, a := range list {
		one := Attacked{Attack: a.Name, Wall: a.Wall, Result: attackOpen, aims: a.Wall}
		if v.walls.jail != nil || os.Getuid() != 0 {
			one, err = v.attack(ctx, program, filepath.Join(dir, strconv.Itoa(i)), a)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", a.Name, err)
		}
		if one.Result == attackSucceeded || one.Result == attackOpen {
			r.Succeeded++
		}
		r.Attacks = append(r.Attacks, one)
	}
	r.Walls = r.standings(v.walls, s.limitsEgress())
	return r, nil
}

// attackMax is how long one attack may take.
const attackMax = 30 * time.Second

// attack makes one attack.
func (v *Service) attack(ctx context.Context, program []string, dir string, a attack.Attack) (Attacked, error) {
	out := Attacked{Attack: a.Name, Wall: a.Wall, aims: a.Wall}
	scene, remove, err := attack.Build(dir)
	if err != nil {
		return out, err
	}
	defer remove()
	scene.Live = v.live()
	if v.Settings.limitsEgress() {
		v.egress = &egress.Link{Allowed: func(string, stage.Role) []string { return []string{fmt.Sprintf("127.0.0.1:%d", scene.Outside)} }}
	}
	body, err := json.Marshal(scene)
	if err != nil {
		return out, err
	}
	own := work.Jail{Write: []string{scene.Own()}, Closed: []uint16{uint16(scene.Port), uint16(scene.Free)}} // as those of the service are
	exit, said, err := v.asAgent(ctx, program, scene.Root, work.Command{
		Dir: scene.Own(), Jail: own, Env: map[string]string{sceneVariable: string(body)},
	}, append(slices.Clone(program), attackCommand, a.Name))
	if err != nil {
		return out, err
	}
	out.Said = said
	switch exit {
	case attack.Succeeded:
		out.Result = attackSucceeded
		if a.Wall == attack.Namespaces && v.walls.kind() == jailLandlock {
			out.Result = attackSeen
		}
	case attack.Failed:
		out.Result = attackRefused
	case attack.NotHere:
		out.Result, out.Wall = attackNotHere, ""
	default:
		return out, fmt.Errorf("it could not be tried: exit code %d: %s", exit, said)
	}
	if out.Result == attackRefused && v.walls.jail == nil {
		out.Wall = "" // the machine itself
	}
	return out, nil
}

// live describes what the service itself has.
func (v *Service) live() attack.Live {
	out := attack.Live{}
	out.Data, _ = resolved(v.Settings.DataDir)    // empty where there is none
	out.Database, _ = resolved(v.Settings.file()) // as where PostgreSQL has it
	if home, err := os.UserHomeDir(); err == nil {
		if _, err := os.ReadDir(home); err == nil {
			out.Home = home
		}
	}
	for _, port := range v.Settings.ownPorts() {
		out.Ports = append(out.Ports, int(port))
	}
	return out
}

// dumpable reports whether other processes of the user may read this one's memory.
func dumpable() bool {
	is, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err != nil || is != 0
}

// asAgent runs a command as an agent is run, with its files below dir. Its error is that it was not run.
func (v *Service) asAgent(
	ctx context.Context, program []string, dir string, c work.Command, argv []string,
) (exit int, said string, err error) {
	v.program = program
	o := v.agentOptions(filepath.Join(dir, "data"))
	o.Default, o.Presets = "attacker", map[string]agentcli.Preset{"attacker": {Argv: argv, Format: agentout.Any}}
	o.TermGrace, o.HomeFiles = time.Second, nil
	runner, err := agentcli.New(o)
	if err != nil {
		return -1, "", err
	}
	c.TaskID, c.Run, c.Attempt, c.Agent.Timeout, c.WorkItem = 1, 1, 1, attackMax, "attack"
	result := runner.Run(ctx, c)
	body, err := os.ReadFile(result.LogPath)
	if err != nil || result.ExitCode < 0 {
		return -1, "", fmt.Errorf("no agent can be started: %s", result.Reason)
	}
	return result.ExitCode, strings.TrimSpace(string(body)), nil
}

// posture has an agent read what the kernel says of it.
func (v *Service) posture(ctx context.Context, program []string, dir string, p *Posture) error {
	dir = filepath.Join(dir, "posture")
	if err := os.MkdirAll(filepath.Join(dir, "own"), 0o700); err != nil {
		return err
	}
	own := filepath.Join(dir, "own")
	c := work.Command{Dir: own, Jail: work.Jail{Write: []string{own}}}
	_, said, err := v.asAgent(ctx, program, dir, c, []string{"cat", "/proc/self/status"})
	for line := range strings.Lines(said) {
		name, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimSpace(value); name {
		case "Seccomp":
			p.Seccomp = value == "2"
		case "NoNewPrivs":
			p.NoNewPrivs = value == "1"
		case "CapEff":
			p.Rights = value
		}
	}
	return err
}

// Write writes the report for people.
func (r SecurityReport) Write(w io.Writer) error {
	p := r.Posture
	if p.Jail == jailNone {
		fmt.Fprint(w, "ORCH_JAIL=none: AGENTS ARE NOT CONFINED. Whatever text they read may make them read all tokens,\n"+
			"the database and every checkout, approve cards, and deploy. "+
			"What refuses an attack below is this machine, by chance.\n\n")
	}
	fmt.Fprintf(w, "posture: jail %s", p.Jail)
	if p.ABI > 0 {
		fmt.Fprintf(w, " (ABI %d)", p.ABI)
	}
	fmt.Fprintf(w, ", seccomp %t, no new privileges %t, capabilities %s, memory of the service readable %t, uid %d\n",
		p.Seccomp, p.NoNewPrivs, p.Rights, p.Dumpable, p.UID)
	fmt.Fprintf(w, "walls: %s\n%s\n", p.Walls, p.Egress)
	if p.Weak != "" {
		fmt.Fprintf(w, "weak: %s\n", p.Weak)
	}
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "WALL\tSTATE\tWHY")
	for _, s := range r.Walls {
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Wall, s.State, s.Why)
	}
	fmt.Fprintln(t, "\nATTACK\tRESULT\tWALL\tSAID")
	for _, a := range r.Attacks {
		said, _, _ := strings.Cut(a.Said, "\n")
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", a.Attack, a.Result, a.Wall, said)
	}
	return t.Flush()
}
