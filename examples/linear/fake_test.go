package linear_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

var kim, bot = user{"u-kim", "Kim", "kim@example.org"}, user{ID: "u-bot", Name: "signalbox"}

// linear is the server.
type linear struct {
	mu       sync.Mutex
	hookURL  string
	last     time.Time
	made     int
	states   map[string][]state // by team
	issues   []*issue
	log      map[string][]move
	said     map[string][]*comment // by issue
	comments map[string]*comment
	faults   map[string]faulttest.Kind // by operation
	answers  []int                     // to webhooks
}

func (l *linear) now() time.Time {
	l.last = l.last.Add(max(time.Millisecond, time.Since(l.last)))
	return l.last
}

func (l *linear) id(kind string) string { l.made++; return fmt.Sprint(kind, "-", l.made) }

func (l *linear) find(id string) *issue {
	if n := slices.IndexFunc(l.issues, func(i *issue) bool { return i.ID == id }); n >= 0 {
		return l.issues[n]
	}
	return nil
}

// hook sends a webhook; the lock is held.
func (l *linear) hook(kind, action string, by user, data, before map[string]any) {
	body, _ := json.Marshal(map[string]any{
		"type": kind, "action": action, "actor": by, "createdAt": l.last, "data": data, "updatedFrom": before, "webhookTimestamp": time.Now().UnixMilli(),
	})
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	req, _ := http.NewRequest(http.MethodPost, l.hookURL, bytes.NewReader(body))
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Linear-Event": {kind}, "Linear-Delivery": {l.id("d")},
		"Linear-Signature": {hex.EncodeToString(mac.Sum(nil))},
	}
	go func() {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answers = append(l.answers, resp.StatusCode)
		}
	}()
}

func (l *linear) move(i *issue, to string, by user) {
	n := slices.IndexFunc(l.states[i.Team.ID], func(s state) bool { return s.ID == to || s.Name == to })
	i.UpdatedAt = l.now()
	if from := i.State; from != l.states[i.Team.ID][n] {
		i.State = l.states[i.Team.ID][n]
		l.log[i.ID] = append(l.log[i.ID], move{i.UpdatedAt, by, i.State})
		data := map[string]any{"id": i.ID, "teamId": i.Team.ID, "stateId": i.State.ID, "stateName": i.State.Name}
		l.hook("Issue", "update", by, data, map[string]any{"stateId": from.ID})
	}
}

func (l *linear) say(id, issue, body string, by user) any {
	c := &comment{ID: id, Body: body, CreatedAt: l.now(), User: by}
	l.comments[id], l.said[issue] = c, append(l.said[issue], c)
	l.find(issue).UpdatedAt = l.last
	l.hook("Comment", "create", by, map[string]any{"id": id, "issueId": issue, "teamId": l.find(issue).Team.ID, "body": body}, nil)
	return c
}

// paged is the page of two behind a cursor.
func paged[T any](list []T, v map[string]any) any {
	after, _ := v["after"].(string)
	from, _ := strconv.Atoi(after)
	p := page[T]{Nodes: list[from:min(from+2, len(list))]}
	p.PageInfo.HasNextPage, p.PageInfo.EndCursor = from+2 < len(list), strconv.Itoa(from+2)
	return p
}

// resolve makes an operation; a text is an error's code.
func (l *linear) resolve(operation string, v map[string]any) (any, string) {
	text := func(name string) string { s, _ := v[name].(string); return s }
	i := l.find(cmp.Or(text("issueId"), text("id")))
	own := l.comments[text("id")]
	switch operation {
	case "Viewer":
		return bot, ""
	case "User":
		if text("id") == kim.ID {
			return kim, ""
		}
	case "States":
		return paged(l.states[text("team")], v), ""
	case "Issues":
		list, since := []issue{}, time.Time{}
		_ = since.UnmarshalText([]byte(text("since")))
		for _, i := range l.issues {
			if i.Team.ID == text("team") && !i.UpdatedAt.Before(since) {
				list = append(list, l.show(i))
			}
		}
		slices.SortFunc(list, func(a, b issue) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
		return paged(list, v), ""
	}
	switch {
	case operation == "UpdateComment" && own == nil, i == nil:
		return nil, "ENTITY_NOT_FOUND"
	case operation == "CreateComment" && own != nil:
		return nil, "exists already"
	case operation == "UpdateIssue":
		l.move(i, text("stateId"), bot)
	case operation == "CreateComment":
		return l.say(text("id"), i.ID, text("body"), bot), ""
	case operation == "UpdateComment":
		own.Body = text("body")
	case operation == "Comments":
		return paged(l.said[i.ID], v), ""
	}
	return l.show(i), ""
}

func (l *linear) show(i *issue) issue {
	out, log := *i, l.log[i.ID]
	out.History.Nodes = slices.Clone(log)
	slices.Reverse(out.History.Nodes)
	return out
}

func (l *linear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		OperationName string
		Variables     map[string]any
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	l.mu.Lock()
	defer l.mu.Unlock()
	out, code := any(nil), "AUTHENTICATION_ERROR"
	switch how := l.faults[in.OperationName]; {
	case how == faulttest.Passing:
		w.WriteHeader(http.StatusBadGateway)
	case how == faulttest.Final:
		code = "FORBIDDEN"
	case how == faulttest.Later:
		code = "RATELIMITED"
		w.Header().Set("Retry-After", "7")
	case r.Header.Get("Authorization") == token:
		out, code = l.resolve(in.OperationName, in.Variables)
	}
	answer := map[string]any{"data": out}
	if code != "" {
		answer["errors"] = []any{map[string]any{"message": code, "extensions": map[string]any{"code": code}}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
