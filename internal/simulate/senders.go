package simulate

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Sources of deliveries.
const (
	sourceBoard = "plane"
	sourceHost  = "github"
)

// adminToken opens what operators do.
const adminToken = "operator"

// letter is the body of a webhook: what changed, and a number that makes it one of
// its kind, as the moment in a real payload does.
type letter struct {
	N     int          `json:"n"`
	Board tracker.Hook `json:"board,omitzero"`
	Host  githost.Hook `json:"host,omitzero"`
}

// boardHooks and hostHooks are the edges of the two senders' webhooks.
type (
	hooks      struct{}
	boardHooks struct{ hooks }
	hostHooks  struct{ hooks }
)

const signatureHeader = "X-Signature"

// hookSecret signs all webhooks.
const hookSecret = "what both senders sign with"

func (hooks) Signature(h http.Header) (*signature.Check, error) {
	given, err := hex.DecodeString(h.Get(signatureHeader))
	if err != nil {
		return nil, signature.ErrMissing
	}
	return signature.Of(hookSecret).Check(given), nil
}

func sign(body []byte) string {
	mac := hmac.New(sha256.New, []byte(hookSecret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

func (hooks) Delivery(h http.Header) (id, event string) { return h.Get("X-Delivery"), "event" }

func (boardHooks) Decode(_ string, b []byte) (tracker.Hook, error) {
	l, err := decode(b)
	return l.Board, err
}

func (hostHooks) Decode(_ string, b []byte) (githost.Hook, error) {
	l, err := decode(b)
	return l.Host, err
}

func (boardHooks) Habits() signature.Habits {
	return signature.Habits{Limit: 1 << 20, Hold: 20 * time.Second, Abort: true}
}

func (hostHooks) Habits() signature.Habits {
	return signature.Habits{Limit: 25 << 20, Hold: 8 * time.Second}
}

func decode(body []byte) (l letter, err error) {
	err = json.Unmarshal(body, &l)
	return l, err
}

// senders are the board and the git host as they send webhooks, and CI.
type senders struct {
	s       *sim
	letters int
	tries   int
	away    int                           // letters that are under way, or that their sender will try once more
	results map[string]githost.CheckState // of CI, by commit
}

// moved sends the webhook of a card's new status.
func (d *senders) moved(i tracker.Item, by string) {
	d.send(sourceBoard, letter{Board: tracker.Hook{
		Kind: tracker.HookItemUpdated, Event: "issue", ProjectID: i.ProjectID, ItemID: i.ID, ActorID: by,
		Status: true, To: cmp.Or(string(i.Status), i.StatusName), Word: i.Status, At: i.UpdatedAt,
		Finished: i.Finished, Column: i.StatusName,
	}})
}

// pushed is a push that has arrived: CI begins.
func (d *senders) pushed(repo, branch, sha string) {
	s := d.s
	s.host.Push(repo, branch, sha)
	i := s.projectOf(repo)
	if s.world.Projects[i].CINone || d.results[sha] != "" {
		return
	}
	d.results[sha] = githost.CheckPending
	s.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPending, Kind: "check_run"})
	s.v.After(s.world.Projects[i].CITime, func() { d.judged(i, branch, sha) })
}

// told sends the webhook of a push.
func (d *senders) told(repo, branch, sha, by string) {
	d.send(sourceHost, letter{Host: githost.Hook{Kind: githost.HookPush, Event: "push", Repo: repo, Branch: branch, SHA: sha, Sender: by}})
}

// judged is the end of CI of a commit.
func (d *senders) judged(project int, branch, sha string) {
	s, state := d.s, githost.CheckPassed
	if red := s.world.Projects[project].CIRed; !s.calm && float64(sha[0]^sha[1]^sha[2]) < red*128 {
		state = githost.CheckFailed
	}
	d.results[sha] = state
	s.host.SetChecks(sha, githost.Check{Name: "build", State: state, Kind: "check_run"})
	d.send(sourceHost, letter{Host: githost.Hook{
		Kind: githost.HookCI, Event: "check_run", Repo: s.list[project].Repo,
		SHA: sha, Branches: []string{branch}, State: string(state), Finished: true,
	}})
}

// merged is a pull request that was merged, by the service or by a person.
func (d *senders) merged(repo string, number int64, sha string) {
	s := d.s
	if s.places[0].Remote(repo, "main") == sha && !s.calm {
		return
	}
	s.places[0].SetRemote(repo, "main", sha)
	branch := ""
	for _, t := range s.check.tasks() {
		if t.Repo == repo && t.State.PR == number {
			branch = t.Branch
		}
	}
	d.send(sourceHost, letter{Host: githost.Hook{
		Kind: githost.HookMerged, Event: "pull_request", Repo: repo, Branch: branch, Number: number, MergeSHA: sha, Sender: "somebody",
	}})
}

func (s *sim) projectOf(repo string) int {
	for i, p := range s.list {
		if strings.EqualFold(p.Repo, repo) {
			return i
		}
	}
	return 0
}

// send has a webhook delivered, with the fate that it has.
func (d *senders) send(source string, l letter) {
	s := d.s
	d.letters++
	l.N = d.letters
	call := "hook." + source
	s.calls[call]++
	fate := Fate{Call: call, N: s.calls[call]}
	switch rate := s.world.Rates.Hook; {
	case s.calm:
	case !s.world.Drawn:
		if planned, ok := s.planned[fateKey{fate.Call, fate.N}]; ok {
			fate = planned
		}
	case rate > 0 && s.chance.IntN(rate) == 0:
		fate.Kind = []FateKind{FateError, fateTwice, fateSlow}[s.chance.IntN(3)]
		fate.For = time.Duration(s.chance.IntN(600)) * time.Second
		s.drawn = append(s.drawn, fate)
	}
	s.trace.line(s.since(), "world", call, string(fate.Kind))
	if fate.Kind != fateOK {
		s.check.quietSince = s.since()
	}
	switch fate.Kind {
	case FateError:
		return
	case fateTwice:
		body := d.write(l)
		d.post(source, func() []byte { return body }, 0)
		d.post(source, func() []byte { return body }, fate.For)
	default:
		d.post(source, func() []byte { return d.write(l) }, fate.For)
	}
}

// write is the body of a letter as it is sent: a move's that shows another column by then has no time of its own, as at Plane.
func (d *senders) write(l letter) []byte {
	if h := l.Board; h.Status {
		if i, err := d.s.board.Item(d.s.ctx, h.ProjectID, h.ItemID); err == nil && i.Status != h.Word {
			l.Board.At = time.Time{}
		}
	}
	body, err := json.Marshal(l)
	if err != nil {
		d.s.check.fail(BadStart, "a webhook cannot be written: %v", err)
	}
	return body
}

// post delivers a body after a while, and again as its sender does.
func (d *senders) post(source string, written func() []byte, after time.Duration) {
	s := d.s
	d.away++
	s.v.After(after, func() {
		s.root.Go(func() {
			defer func() { d.away-- }()
			body := written()
			for range 5 {
				answered, code := d.request(source, body)
				if code == http.StatusAccepted {
					s.check.acknowledged(body)
				}
				if answered || source == sourceHost { // only the board tries again, and only when the connection broke
					return
				}
				if run.Sleep(s.ctx, s.root, 10*time.Minute) != nil {
					return
				}
			}
		})
	})
}

// request posts a body to a replica that is up.
func (d *senders) request(source string, body []byte) (answered bool, code int) {
	s := d.s
	var up []*node
	for _, n := range s.nodes {
		if n.up() {
			up = append(up, n)
		}
	}
	if len(up) == 0 {
		return
	}
	d.tries++
	n := up[d.tries%len(up)]
	path, patience := "/webhooks/tracker", 30*time.Second
	if source == sourceHost {
		path, patience = "/webhooks/githost", 10*time.Second
	}
	header := http.Header{signatureHeader: {sign(body)}, "X-Delivery": {fmt.Sprintf("d%d", d.tries)}, "Content-Type": {"application/json"}}
	return n.serve(http.MethodPost, path, header, body, patience)
}

// serve lets a replica answer a request, as far as it lives and in time.
func (n *node) serve(method, path string, header http.Header, body []byte, patience time.Duration) (answered bool, code int) {
	s := n.sim
	r := httptest.NewRequestWithContext(s.ctx, method, path, bytes.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	done, domain, edge := make(chan struct{}, 1), n.domain, n.edge
	domain.Go(func() {
		aborted := run.Guard("request", func() { edge.ServeHTTP(w, r) }) != nil // by design: it breaks the connection
		if answered = !aborted && !domain.Dead(); answered {
			code = w.Code
		}
		run.Hint(done)
	})
	_ = s.root.Wait(s.ctx, s.root.Now().Add(patience), done)
	return answered, code
}
