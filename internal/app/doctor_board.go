package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// addBoardHook registers the webhook of a project's board, where that can be done.
func (d *doctor) addBoardHook(ctx context.Context, v *Service, p task.Project, n neighbour) {
	board, ok := v.Boards[p.Board].(interface {
		AddWebhook(ctx context.Context, projectID, address, secret string) (made bool, err error)
	})
	secret := n.commonSecret()
	if !ok || v.Settings.PublicURL == "" || secret == "" {
		return
	}
	address := v.Settings.publicURL() + n.path
	made, err := board.AddWebhook(ctx, mux.ID(p.Board, p.TrackerProject), address, secret)
	if err != nil { // it takes more rights than the board does, which is read without it too
		d.of(p.Prefix).Warn("webhooks: one of the board to %s cannot be registered: %v", address, err)
	} else if made {
		d.of(p.Prefix).OK("webhooks: one of the board to %s was registered", address)
	}
}

// hookWait bounds the wait for the webhook of a card that was made for it.
const hookWait = 15 * time.Second

// tryBoard makes a card on a project's board, moves it, comments on it and takes it away. Meanwhile its webhook is waited for, where
// boards of the project's tracker send them to this deployment.
func (d *doctor) tryBoard(ctx context.Context, v *Service, p task.Project, n neighbour) {
	maker, ok := v.Boards[p.Board].(tracker.Maker)
	if !ok {
		return
	}
	a, project, hooks := d.of(p.Prefix), mux.ID(p.Board, p.TrackerProject), v.Settings.PublicURL != ""
	if hooks {
		defer v.serveHooks(ctx)()
	}
	before, err := v.DB.LastDelivery(ctx, n.source())
	var card tracker.Item
	if err == nil {
		card, err = maker.MakeItem(ctx, project, "Rehearsal of signalbox: this card goes by itself")
	}
	if err != nil {
		a.Bad("a card cannot be made on the board: %w", err)
		return
	}
	err = v.tryCard(ctx, p.TrackerProject, card.ID)
	came := time.Time{}
	for end := time.Now().Add(hookWait); err == nil && hooks && !came.After(before) && time.Now().Before(end); {
		if came, err = v.DB.LastDelivery(ctx, n.source()); err == nil {
			err = run.Sleep(ctx, run.Real{}, 100*time.Millisecond)
		}
	}
	if left := maker.RemoveItem(context.WithoutCancel(ctx), project, card.ID); left != nil {
		err = errors.Join(err, fmt.Errorf("take %s away by hand: %w", v.Tracker.ItemURL(p.TrackerProject, card.ID), left))
	}
	if a.Check("a card was made on the board, moved, commented on, and taken away", "", err) && hooks && !came.After(before) {
		a.Warn("no webhook of that card came in %s: look whether %s leads here, from the board, with the secret of %s; "+
			"without webhooks the board is read every %s",
			hookWait, v.Settings.publicURL()+n.path, n.secretName, v.Settings.Features.Reconciler.Every)
	}
}

// tryCard moves a card into a column that begins nothing, and comments on it.
func (v *Service) tryCard(ctx context.Context, project, card string) error {
	if err := v.Tracker.SetStatus(ctx, project, card, stage.StatusAnalysis); err != nil {
		return err
	}
	_, err := v.Tracker.AddComment(ctx, tracker.NewComment{
		ProjectID: project, ItemID: card, Key: "rehearsal/" + card, Body: "The service may write here.",
	})
	return err
}

// serveHooks takes webhooks until its result is called, unless a server of these settings does. They are stored, and worked off by the
// next server.
func (v *Service) serveHooks(ctx context.Context) (end func()) {
	address, handler := v.Settings.Listen, v.Handler
	if v.Hooks != nil {
		address, handler = v.Settings.HooksListen, v.Hooks
	}
	l, err := service.Listen(ctx, address)
	if err != nil {
		return func() {}
	}
	server := &http.Server{Handler: handler, ReadTimeout: hookWait}
	g := run.New(ctx, v.Log)
	g.Go("webhooks", func(context.Context) { _ = server.Serve(l) }) // until it is closed
	return func() {
		_ = server.Close()
		g.Stop()
	}
}
