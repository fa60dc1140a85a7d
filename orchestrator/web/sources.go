package web

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Source sends webhooks: a tracker, a git host or a chat.
type Source struct {
	Name    string           // of its path and in delivery records; of a git host, as task.Project.Host has it
	Tracker tracker.Receiver // nil for a git host
	Host    githost.Receiver // nil for a tracker
	Chat    messenger.Receiver
}

// Paths that the first tracker and the first git host have besides their own.
const (
	firstTracker = "tracker"
	firstHost    = "githost"
)

var sourceForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

// index arranges sources by the last part of their paths.
func index(sources []Source) (map[string]Source, error) {
	out := map[string]Source{}
	for _, s := range sources {
		_, twice := out[s.Name]
		switch {
		case !sourceForm.MatchString(s.Name):
			return nil, fmt.Errorf("web: Options.Sources: the name %q, want small letters, digits, - and _, "+
				"which are a part of the path", s.Name)
		case twice:
			return nil, fmt.Errorf("web: Options.Sources: two sources are called %s", s.Name)
		case s.Chat == nil && (s.Tracker == nil) == (s.Host == nil):
			return nil, fmt.Errorf("web: Options.Sources: %s is to be either a tracker or a git host", s.Name)
		}
		out[s.Name] = s
	}
	for _, s := range sources {
		also := firstHost
		if s.Tracker != nil {
			also = firstTracker
		}
		if s.Chat != nil {
			continue
		}
		if _, taken := out[also]; !taken {
			out[also] = s
		}
	}
	return out, nil
}

// edge is the receiver of a source.
func (s Source) edge() edge {
	switch {
	case s.Chat != nil:
		return s.Chat
	case s.Tracker != nil:
		return s.Tracker
	default:
		return s.Host
	}
}

// sender is how webhooks of a source are taken.
func (s *server) sender(from Source) sender {
	out := sender{edge: from.edge(), source: from.Name, projects: s.Engine.Projects.Now()}
	if from.Chat != nil {
		out.take = func(ctx context.Context, body []byte) error {
			a, ok, err := from.Chat.DecodeAct(body)
			if err != nil { // it would be the same the next time, with others behind it
				s.Log.Warn("an act in the chat cannot be read", "source", from.Name, "err", err)
			}
			if !ok {
				return nil
			}
			return s.Hear(ctx, a)
		}
	} else if from.Tracker != nil {
		out.decode = func(event string, body []byte) (happening, error) {
			h, err := from.Tracker.Decode(event, body)
			p, known := out.projects.ByTracker(h.ProjectID)
			job := func() (queue.Job, string) { return s.Engine.Wanted(h) }
			return happening{h.Kind == tracker.HookOther, known, "project", p.Repo, job}, err
		}
	} else {
		if form, ok := from.Host.(githost.FormReceiver); ok {
			out.unwrap = form.FormPayload
		}
		out.decode = func(event string, body []byte) (happening, error) {
			h, err := from.Host.Decode(event, body)
			p, known := out.projects.ByHost(from.Name, h.Repo)
			h.Repo = p.Repo
			job := func() (queue.Job, string) {
				if orchestrator.HostTrigger(h) == "" {
					return queue.Job{}, "the event is only noted"
				}
				return orchestrator.HostJob(p, h), ""
			}
			return happening{h.Kind == githost.HookOther, known, "repository", p.Repo, job}, err
		}
	}
	out.habits = out.edge.Habits()
	out.habits.Hold = cmp.Or(s.Hold, out.habits.Hold)
	return out
}

// happening holds what a webhook tells.
type happening struct {
	other, known bool   // it is of no interest; of something that the registry has
	of, repo     string // a project or a repository; as it is registered
	job          func() (job queue.Job, ignore string)
}

// judge returns the job, or why the event is of no interest; errForeign when the signature does not speak for the project.
func (h happening) judge(signed *signature.Check) (job queue.Job, ignore string, err error) {
	switch {
	case h.other:
		return job, "the event is of no interest", nil
	case !h.known:
		return job, "the " + h.of + " is not registered", nil
	case !signed.SpeaksFor(h.repo):
		return job, "", errForeign
	}
	job, ignore = h.job()
	return job, ignore, nil
}
