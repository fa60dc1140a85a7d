package plane_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// rig is a whole engine whose board is a Plane, in one bubble of virtual time: requests and
// webhooks are calls of functions.
type rig struct {
	*orchestratortest.Rig
	plane   *planetest.Server
	client  *plane.Client
	project string
	spoils  atomic.Pointer[func(r *http.Request) int] // see spoil
	spoiled atomic.Int64
}

// inProcess is a transport to a function.
type inProcess func(*http.Request) (*http.Response, error)

func (f inProcess) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// engine makes a rig and calls test. The options may be changed first.
func engine(t *testing.T, change func(*rig, *planetest.Options, *plane.Options), test func(*rig)) {
	t.Helper()
	p := &rig{}
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		p.Rig = r
		server := planetest.Options{
			Tokens: map[string]string{botToken: bot, reviewerToken: reviewer}, Secret: secret, Drag: time.Second,
			Hooks: &http.Client{Transport: inProcess(p.receive)}, HookURL: "http://signalbox.example.org/webhooks/tracker",
		}
		o := plane.Options{
			BaseURL: "http://plane.example.org", Workspace: "acme", Token: botToken, Secrets: signature.Of(secret),
			HTTPClient: &http.Client{Transport: inProcess(p.call)},
		}
		r.Features = func() []orchestrator.Feature {
			f, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
		if change != nil {
			change(p, &server, &o)
		}
		p.plane = planetest.New(server)
		p.project = p.plane.AddProject("APP", planetest.StandardStates()...)
		r.Projects[0].TrackerProject = p.project
		r.Projects = r.Projects[:1]
		var err error
		p.client, err = plane.New(o)
		require.NoError(r, err)
		require.NoError(r, p.client.Identify(context.Background()))
		r.Tracker = p.client
		r.Cleanup(p.plane.Close)
	}, func(*orchestratortest.Rig) { test(p) })
}

// spoil has an error answered in place of the server, by the status that a function returns; 0 = none.
func (p *rig) spoil(by func(*http.Request) int) { p.spoils.Store(&by) }

// call answers a request of the client, which may give it up: the server goes on.
func (p *rig) call(r *http.Request) (*http.Response, error) {
	answer, done := httptest.NewRecorder(), make(chan struct{})
	if spoil := p.spoils.Load(); spoil != nil {
		if status := (*spoil)(r); status != 0 {
			p.spoiled.Add(1)
			answer.WriteHeader(status)
			return answer.Result(), nil
		}
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	r = r.Clone(context.WithoutCancel(ctx))
	r.Body = io.NopCloser(bytes.NewReader(body))
	go func() {
		defer close(done)
		p.plane.ServeHTTP(answer, r)
	}()
	select {
	case <-done:
		return answer.Result(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// receive takes a webhook as the server does.
func (p *rig) receive(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if !passes(p.client, r.Header, body) {
		p.Error("the signature is wrong")
	}
	id, event := p.client.Delivery(r.Header)
	h, err := p.client.Decode(event, body)
	if err != nil {
		p.Errorf("decode: %v", err)
	}
	if job, ignored := p.Engine.Wanted(h); ignored == "" && h.Kind != tracker.HookOther {
		if _, err := p.Store.Receive(context.Background(), task.Delivery{Source: "plane", ID: id, BodyHash: id, ReceivedAt: time.Now()}, job); err != nil {
			p.Error(err)
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&bytes.Buffer{}), Request: r}, nil
}

// card makes a card.
func (p *rig) card(title string) string {
	p.Helper()
	id, err := p.plane.AddItem(p.project, title, "<p>what is wanted</p>")
	require.NoError(p, err)
	return id
}

// started is a card that a person has set To Analyse.
func (p *rig) started(title string) string {
	p.Helper()
	item := p.card(title)
	p.begin(item)
	return item
}

// begin has a person set a card To Analyse, approve has the person approve it.
func (p *rig) begin(item string)   { p.move(planetest.Human, item, stage.StatusToAnalyse) }
func (p *rig) approve(item string) { p.move(planetest.Human, item, stage.StatusApproved) }

// isDone requires the task of a card to be done, isReviewed one to wait for an approval.
func (p *rig) isDone(item string) {
	p.Helper()
	p.Stands(item, stage.Done)
}

func (p *rig) isReviewed(item string) {
	p.Helper()
	p.Waits(item, stage.HoldApproval)
}

// move is an account moving a card in the browser; what follows is done when it returns.
func (p *rig) move(account, item string, to stage.Status) {
	p.Helper()
	info, _ := stage.StatusNamed(to)
	require.NoError(p, p.plane.MoveAs(account, item, info.Name))
	p.Settle(20 * time.Second)
}

// column is where a card stands.
func (p *rig) column(item string) string {
	for _, i := range p.plane.Items(p.project) {
		if i.ID == item {
			return i.StateName
		}
	}
	return ""
}

// Whether the token's account is one of its own or a person's, that person's words are acted on at
// once, and what comes back of the service's own is not. There is no reconciler here.
func TestOneAccountForBoth(t *testing.T) {
	for name, account := range map[string]string{"an account of its own": planetest.Human, "a person's": bot} {
		t.Run(name, func(t *testing.T) {
			engine(t, nil, func(p *rig) {
				item := p.card("one")
				p.move(account, item, stage.StatusToAnalyse)
				p.isReviewed(item)
				require.NoError(p, p.plane.SayAs(account, item, "<p>Name the colours.</p>"))
				p.move(account, item, stage.StatusRejected)
				p.isReviewed(item)
				runs := p.Place.Runs()
				require.Len(p, runs, 2)
				require.Equal(p, "Name the colours.", runs[1].Env["SIGNALBOX_FEEDBACK"])
				require.Equal(p, 1, strings.Count(runs[1].Prompt, "Z Name the colours."), "it is a person's comment")
				require.NotContains(p, runs[1].Prompt, "The task is taken up")
				p.move(account, item, stage.StatusInProgress)
				require.Len(p, p.Place.Runs(), 3, "the column is one that the service sets too")
				p.move(account, item, stage.StatusApproved)
				p.Settle(time.Minute)
				p.isDone(item)
				require.Equal(p, "Done", p.column(item))
				require.Len(p, p.Place.Runs(), 9, "no echo has started anything")

				stopped := p.card("two")
				p.Place.SetScript(orchestratortest.Instead(stage.Analyst, orchestratortest.Hang))
				p.move(account, stopped, stage.StatusToAnalyse)
				p.move(account, stopped, stage.StatusStop)
				require.Equal(p, stage.Cancelled, p.Cancelled(stopped).State.Stage)
				require.Equal(p, "STOP", p.column(stopped))
				for _, id := range []string{item, stopped} {
					for _, c := range p.plane.Comments(id) {
						require.NotContains(p, c.HTML, "moves nothing", "no echo is answered")
					}
				}
			})
		})
	}
}

// Every comment of the service's carries its mark, also one without a key.
func TestOwnCommentsAreMarked(t *testing.T) {
	t.Parallel()
	c, board := setup(t)
	p, id := addItem(t, board, "Backlog")
	for n := range 2 {
		_, err := c.AddComment(t.Context(), tracker.NewComment{ProjectID: p, ItemID: id, Key: strings.Repeat("k", n), Body: "ours"})
		require.NoError(t, err)
		require.NoError(t, board.SayAs(bot, id, fmt.Sprint("a person's ", n)))
	}
	list, err := c.Comments(t.Context(), p, id)
	require.NoError(t, err)
	var own []bool
	for _, m := range list {
		own = append(own, m.Own)
	}
	require.Equal(t, []bool{true, false, true, false}, own)
}
