package limit

import (
	"net/http"
	"time"
)

// Limits of a stream of server-sent events.
const (
	streamPoll  = 250 * time.Millisecond // how often it is looked whether anything has come
	streamBeat  = 15 * time.Second       // a comment, so that proxies keep the connection
	streamWrite = 5 * time.Second        // a reader that takes longer is let go; it comes back
	streamMax   = 5 * time.Minute        // a client comes back, and what it may read is looked at again
)

// Streams bounds how many streams a sender, a name and all together have open. Its zero value
// lets nobody in: Each and All are required.
type Streams struct{ BySender, ByName Share }

// NewStreams makes a bound of all together, and of one sender or one name.
func NewStreams(all, each int64) *Streams {
	return &Streams{BySender: Share{All: all, Each: each}, ByName: Share{All: all, Each: each}}
}

// take takes a stream, or reports that there is none. An empty name is bound by its sender alone.
func (s *Streams) take(sender, name string) bool {
	if !s.BySender.Take(sender, 1) {
		return false
	}
	if name != "" && !s.ByName.Take(name, 1) {
		s.BySender.Free(sender, 1)
		return false
	}
	return true
}

func (s *Streams) free(sender, name string) {
	s.BySender.Free(sender, 1)
	if name != "" {
		s.ByName.Free(name, 1)
	}
}

// Serve writes server-sent events, as next returns them, until the client goes away, done is closed or
// the events have ended; a client comes back behind an error. It reports false, and has written no more than
// a header, when there is no place for another stream. A client that reads slowly slows nobody but itself:
// nothing is kept for it.
func (s *Streams) Serve(
	w http.ResponseWriter, r *http.Request, name string, done <-chan struct{}, next func() (text []byte, ended bool, err error),
) bool {
	sender := Sender(r)
	if !s.take(sender, name) {
		w.Header().Set("Retry-After", "10")
		return false
	}
	defer s.free(sender, name)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return true
	}
	control, quiet, over := http.NewResponseController(w), time.Time{}, time.After(streamMax)
	for {
		text, ended, err := next()
		if err != nil {
			return true
		}
		if len(text) > 0 || time.Since(quiet) > streamBeat {
			// Not every writer has deadlines (a test's recorder has none).
			_ = control.SetWriteDeadline(time.Now().Add(streamWrite))
			if _, err := w.Write(append([]byte(":\n\n"), text...)); err != nil || control.Flush() != nil {
				return true
			}
			quiet = time.Now()
		}
		if ended {
			return true
		}
		select {
		case <-r.Context().Done():
			return true
		case <-done:
			return true
		case <-over:
			return true
		case <-time.After(streamPoll):
		}
	}
}
