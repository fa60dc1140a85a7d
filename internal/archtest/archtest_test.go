package archtest

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// The module keeps its own rules.
func TestModule(t *testing.T) {
	found, err := Check(os.DirFS("../.."))
	require.NoError(t, err)
	for _, v := range found {
		t.Error(v)
	}
}

// Every rule catches what it is there for.
func TestRules(t *testing.T) {
	const mod = `"github.com/signalbox-dev/signalbox/`
	for name, c := range map[string]struct{ file, body, want string }{
		"upward":          {"queue/x.go", `package queue; import _ ` + mod + `orchestrator"`, "imports point down"},
		"sideways":        {"adapters/plane/x.go", `package plane; import _ ` + mod + `adapters/github"`, "imports point down"},
		"adapter":         {"orchestrator/service/x.go", `package service; import _ ` + mod + `adapters/plane"`, "imports point down"},
		"tasks in tracks": {"adapters/tracksqlite/x.go", `package tracksqlite; import _ ` + mod + `queue"`, "the tracks do without the tasks"},
		"tracks in tasks": {"adapters/postgres/x.go", `package postgres; import _ ` + mod + `gpstracks/tile"`, "the tasks do without the tracks"},
		"third party":     {"gates/x.go", `package gates; import _ "github.com/jackc/pgx/v5"`, "third-party"},
		"impure":          {"orchestrator/stage/x.go", `package stage; import _ "os"`, "floor 0 is pure"},
		"clock":           {"orchestrator/stage/x.go", `package stage; import "time"; var errX = error(nil); func f() time.Time { return time.Now() }`, "no clock"},
		"testing":         {"gates/fixture/x.go", `package fixture; import _ "testing"`, "test framework"},
		"suite":           {"adapters/sqlite/x.go", `package sqlite; import _ ` + mod + `queue/queuetest"`, "only tests do"},
		"rig":             {"internal/simulate/x.go", `package simulate; import _ ` + mod + `orchestrator/orchestratortest"`, "only tests do"},
		"rig and feature": {"orchestrator/orchestratortest/x.go", `package orchestratortest; import _ ` + mod + `orchestrator/features/stop"`, "takes features as values"},
		"unplanned":       {"somewhere/x.go", `package somewhere`, "not on the floor plan"},
		"unplanned there": {"adapters/plane/x.go", `package plane; import _ ` + mod + `somewhere"`, "not on the floor plan"},
		"go":              {"queue/x.go", `package queue; func f() { go f() }`, "go statement"},
		"recover":         {"queue/x.go", `package queue; func f() { recover() }`, "recover"},
		"panic":           {"queue/x.go", `package queue; func f() { panic("x") }`, "a failure is a value"},
		"panic in web":    {"orchestrator/web/x.go", `package web; func f() { panic("x") }`, "a failure is a value"},
		"exit":            {"queue/x.go", `package queue; import "os"; func f() { os.Exit(1) }`, "only a main function"},
		"init":            {"queue/x.go", `package queue; func init() {}`, "func init"},
		"state":           {"queue/x.go", `package queue; var cache = map[string]int(nil)`, "package variable cache"},
		"wide interface":  {"queue/x.go", `package queue; type I interface { A(); B(); C(); D(); E(); F() }`, "6 methods"},
		"vague name":      {"queue/utils.go", `package queue`, "says nothing"},
		"long file":       {"queue/x.go", "package queue\n" + strings.Repeat("//\n", 400), "401 lines"},
		"timer":           {"orchestrator/x.go", `package orchestrator; import "time"; func f() { time.Sleep(1) }`, "time.Sleep"},
		"clock as value":  {"orchestrator/features/stop/x.go", `package stop; import "time"; func f() { g(time.Now) }`, "time.Now"},
		"deadline":        {"orchestrator/effects/x.go", `package effects; import "context"; func f() { context.WithTimeout(nil, 1) }`, "context.WithTimeout"},
		"select":          {"orchestrator/x.go", `package orchestrator; func f() { select {} }`, "a select statement"},
		"receive":         {"gates/x.go", `package gates; func f(c chan int) { <-c }`, "a receive"},
		"send":            {"gates/checks/x.go", `package checks; func f(c chan int) { c <- 1 }`, "a send"},
		"wait group":      {"orchestrator/x.go", `package orchestrator; import "sync"; type t struct { wg sync.WaitGroup }`, "sync.WaitGroup"},
		"locked call":     {"orchestrator/x.go", `package orchestrator; func (e *E) f(ctx C) { e.mu.Lock(); e.Store.Task(ctx, 1) }`, "under a lock"},
		"coroutine":       {"queue/x.go", `package queue; import "iter"; func f() { iter.Pull(nil) }`, "iter.Pull"},
		"old random":      {"queue/x.go", `package queue; import _ "math/rand"`, "math/rand/v2"},
		"riddle":          {"queue/x_test.go", "package queue\n\n// f is what it gives.\nfunc f() {}", `a comment begins "f is what"`},
		"riddle in const": {"queue/x.go", "package queue\n\nconst (\n\t// a is why it waits.\n\ta = 1\n)", `"a is why"`},
		"riddle in field": {"queue/x.go", "package queue\n\ntype t struct {\n\t// B is whose it is.\n\tB int\n}", `"B is whose"`},
	} {
		found, err := Check(fstest.MapFS{c.file: {Data: []byte(c.body)}})
		require.NoError(t, err, name)
		require.NotEmpty(t, found, name)
		require.Contains(t, found[0].String(), c.want, name)
	}
}

// A module inside of this one is not this one's.
func TestOtherModule(t *testing.T) {
	found, err := Check(fstest.MapFS{"bench/x/go.mod": {}, "bench/x/sub/x.go": {Data: []byte(`package x; func init() {}`)}})
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestAllowed(t *testing.T) {
	for file, body := range map[string]string{
		"orchestrator/web/x.go": `package web; import "net/http"; func f() { panic(http.ErrAbortHandler) }`,
		"internal/run/x.go":     `package run; var panics int; func f() { recover(); go f() }`, "internal/run/virtual/x.go": `package virtual; import "iter"; func f() { iter.Pull[int](nil) }`,
		"orchestrator/x.go":    `package orchestrator; func (e *E) f(ctx C) { e.mu.Lock(); e.n++; e.mu.Unlock() }; func g(ctx C) { h(ctx) }`,
		"queue/x.go":           `package queue; import ("errors"; "regexp"); var ErrX = errors.New("x"); var form = regexp.MustCompile("x"); var _ = 1`,
		"queue/x_test.go":      `package queue; import _ "github.com/stretchr/testify/require"; var state int; func f() { go f(); panic(1) }`,
		"examples/server/x.go": `package main; import "os"; func main() { os.Exit(0) }`,
	} {
		found, err := Check(fstest.MapFS{file: {Data: []byte(body)}})
		require.NoError(t, err)
		require.Empty(t, found, file)
	}
	_, err := Check(fstest.MapFS{"queue/x.go": {Data: []byte("not go")}})
	require.Error(t, err)
}
