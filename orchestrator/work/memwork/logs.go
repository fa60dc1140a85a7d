package memwork

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"sync"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Logs is a work.Logs in memory. Its zero value has nothing.
type Logs struct {
	mu sync.Mutex
	by map[work.LogName][]byte
}

// Print appends to a log.
func (l *Logs) Print(n work.LogName, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil {
		l.by = map[work.LogName][]byte{}
	}
	l.by[n] = append(l.by[n], text...)
}

// Step appends a step to the steps of an execution, whatever the stream of its name.
func (l *Logs) Step(n work.LogName, s work.Step) {
	line, err := json.Marshal(s)
	if err != nil { // a time that has no form in JSON: an adapter's stream has no such line either
		return
	}
	n.Stream = work.StreamSteps
	l.Print(n, string(line)+"\n")
}

// Replace makes a log another text.
func (l *Logs) Replace(n work.LogName, text string) {
	l.mu.Lock()
	delete(l.by, n)
	l.mu.Unlock()
	l.Print(n, text)
}

// OpenLog implements work.Logs. What is printed afterwards is seen when it is opened again.
func (l *Logs) OpenLog(_ context.Context, n work.LogName) (io.ReadSeekCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, ok := l.by[n]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return openLog{bytes.NewReader(text)}, nil
}

type openLog struct{ *bytes.Reader }

func (openLog) Close() error { return nil }
