package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// tokenCmd keeps named tokens in the server's database, which it opens itself: who may read that
// is an administrator already.
type tokenCmd struct {
	Add    tokenAddCmd    `cmd:"" help:"Make a token for a person or a program, and print it, once."`
	List   tokenListCmd   `cmd:"" help:"List tokens: names, rights, ends."`
	Revoke tokenRevokeCmd `cmd:"" help:"Revoke a token; its sessions end with it."`
}

// sessionCmd shows who has signed in, in the same way.
type sessionCmd struct {
	List   sessionListCmd   `cmd:"" help:"List the sessions of people who have signed in."`
	Revoke sessionRevokeCmd `cmd:"" help:"End all sessions of a name."`
}

// inStore runs f with the server's database, which is there: in one that was made for it nobody has a token, and the journal
// is whole.
func inStore(f func(context.Context, app.Database) error) error {
	settings, err := readSettings(nil)
	if err == nil {
		err = settings.NeedsDatabase()
	}
	if err != nil {
		return err
	}
	ctx := context.Background()
	db, err := app.OpenStore(ctx, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, db), db.Close())
}

// audit writes what a command changes into the journal, before it does.
func audit(ctx context.Context, db app.Database, act, name string) error {
	by := stage.Principal{Kind: stage.KindOperator, ID: "local", Name: account(), Via: stage.ViaCommand, Proof: stage.ProofNone}
	return db.Commit(ctx, task.Commit{Journal: []task.JournalEntry{task.ActEntry(time.Now(), task.Act{Act: act, By: by, Name: name})}})
}

type tokenAddCmd struct {
	Name  string   `arg:"" help:"Whose it is; the journal shows the name."`
	Role  string   `required:"" enum:"viewer,operator,approver,releaser,admin" help:"viewer, operator, approver, releaser or admin."`
	Repos []string `help:"Repositories (owner/name,…); unset: all."`
	Days  int      `help:"Days until it expires; unset: never."`
	output
}

// Run makes a token.
func (c tokenAddCmd) Run(s *streams) error {
	now, ends := time.Now().UTC(), time.Time{}
	if c.Days < 0 {
		return errors.New("--days is to be more than 0")
	}
	if c.Days > 0 {
		ends = now.AddDate(0, 0, c.Days)
	}
	t, secret, err := access.NewToken(c.Name, access.Grant{Role: access.Role(c.Role), Repos: c.Repos}, now, ends)
	if err != nil {
		return err
	}
	return inStore(func(ctx context.Context, db app.Database) error {
		if err := audit(ctx, db, task.ActTokenAdd, c.Name+" "+t.Grant.String()); err != nil {
			return err
		}
		added, err := db.AddToken(ctx, t)
		if err == nil && !added {
			err = fmt.Errorf("there is a token %s already: revoke it first, or take another name", c.Name)
		}
		if err != nil {
			return err
		}
		made := struct {
			tokenView
			Token string `json:"token"`
		}{viewOf(t), secret}
		return c.say(s.out, made, "%s\n", secret)
	})
}

// tokenView is a token as JSON has it: nothing that lets in.
type tokenView struct {
	Name    string    `json:"name"`
	Role    string    `json:"role"`
	Repos   []string  `json:"repos"` // empty: all
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"`
}

func viewOf(t access.Token) tokenView {
	return tokenView{t.Name, string(t.Grant.Role), append([]string{}, t.Grant.Repos...), t.Made, t.Expires}
}

type tokenListCmd struct{ output }

// Run lists tokens.
func (c tokenListCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		list, err := db.Tokens(ctx)
		return printList(c.output, s, "tokens", list, err, viewOf, "NAME\tRIGHT\tMADE\tEXPIRES", func(t access.Token) []any {
			ends := "never"
			if !t.Expires.IsZero() {
				ends = moment(t.Expires)
			}
			return []any{t.Name, t.Grant, moment(t.Made), ends}
		})
	})
}

// table writes rows of cells below a head, which has tabs between its words.
func table(out io.Writer, head string, rows func(row func(cells ...any))) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, head)
	rows(func(cells ...any) { fmt.Fprintf(w, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...) })
	return w.Flush()
}

// printList prints what was read: in JSON the views of it, under a name, else a table.
func printList[T, V any](
	o output, s *streams, name string, list []T, unread error, view func(T) V, head string, cells func(T) []any,
) error {
	if unread != nil {
		return unread
	}
	views := make([]V, len(list))
	for i, one := range list {
		views[i] = view(one)
	}
	return o.print(s.out, map[string]any{name: views}, func(w io.Writer) error {
		return table(w, head, func(row func(...any)) {
			for _, one := range list {
				row(cells(one)...)
			}
		})
	})
}

type tokenRevokeCmd struct {
	Name string `arg:"" help:"Of the token."`
}

// Run revokes a token.
func (c tokenRevokeCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		if err := audit(ctx, db, task.ActTokenRevoke, c.Name); err != nil {
			return err
		}
		dropped, err := db.DropToken(ctx, c.Name)
		return orMissing(dropped, err, "there is no token %q (signalbox token list)", c.Name)
	})
}

// sessionView is a session as JSON has it.
type sessionView struct {
	Name   string    `json:"name"`
	Via    string    `json:"via"`
	Groups []string  `json:"groups"`
	From   string    `json:"from"`
	Began  time.Time `json:"began"`
	Seen   time.Time `json:"used"`
}

type sessionListCmd struct{ output }

// Run lists sessions.
func (c sessionListCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		list, err := db.Sessions(ctx)
		return printList(c.output, s, "sessions", list, err, func(n access.Session) sessionView {
			return sessionView{n.Name, string(n.Via), append([]string{}, n.Groups...), n.From, n.Began, n.Seen}
		}, "NAME\tVIA\tGROUPS\tFROM\tBEGAN\tUSED", func(n access.Session) []any {
			return []any{n.Name, n.Via, strings.Join(n.Groups, ","), n.From, moment(n.Began), moment(n.Seen)}
		})
	})
}

type sessionRevokeCmd struct {
	Name string `arg:"" help:"Of the person, as signalbox session list shows it."`
	output
}

// Run ends sessions.
func (c sessionRevokeCmd) Run(s *streams) error {
	return inStore(func(ctx context.Context, db app.Database) error {
		list, err := db.Sessions(ctx)
		if err != nil {
			return err
		}
		var ids []string
		for _, n := range list {
			if n.Name == c.Name {
				ids = append(ids, n.ID)
			}
		}
		if err := orMissing(len(ids) > 0, nil, "%q has no session (signalbox session list)", c.Name); err != nil {
			return err
		}
		if err := audit(ctx, db, task.ActSessionRevoke, c.Name); err != nil {
			return err
		}
		if err := db.DropSessions(ctx, ids...); err != nil {
			return err
		}
		return c.say(s.out, map[string]int{"ended": len(ids)}, "%d sessions have ended\n", len(ids))
	})
}
