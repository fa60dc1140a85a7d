package limit

import (
	"context"
	"net/http"
	"time"
)

// finishWithin is how long a request is worked at when its client has gone away.
const finishWithin = 30 * time.Second

// Finish serves a request whether or not its client still sends: one that has sent
// everything may close its half of the connection (nc does, and probes), which ends the
// request's context, and still reads the answer. It is not for streams.
func Finish(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), finishWithin)
		defer cancel()
		next(w, r.WithContext(ctx))
	})
}
