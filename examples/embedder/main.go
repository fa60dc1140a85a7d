// Command embedder is a service with a board of its own: a directory for each status, with a file for each card.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/filelease"
	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cardlist"
)

// folder is the board: a card is moved by moving its file, as in mv "cards/to_analyse/1 Tiles" cards/stop.
type folder string

func (f folder) Cards(context.Context, string) (list []tracker.Item, err error) {
	files, err := filepath.Glob(filepath.Join(string(f), "*", "*"))
	for _, name := range files {
		body, gone := os.ReadFile(name)
		id, column := filepath.Base(name), filepath.Base(filepath.Dir(name))
		card := tracker.Item{ID: id, Title: id, Description: string(body), Status: stage.Status(column)}
		if _, unnumbered := fmt.Sscan(card.ID, &card.Sequence); gone == nil && unnumbered == nil {
			list = append(list, card)
		}
	}
	return list, err
}

func (f folder) Move(_ context.Context, c tracker.Item, to stage.Status) error {
	dir := filepath.Join(string(f), string(to))
	return errors.Join(os.MkdirAll(dir, 0o700), os.Rename(filepath.Join(string(f), string(c.Status), c.ID), filepath.Join(dir, c.ID)))
}

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt)
	store, err1 := sqlite.Open(ctx, sqlite.Options{Path: "data/signalbox.db"})
	git, err2 := gitcli.New(ctx, gitcli.Options{Root: "data/git"})
	leases, err3 := filelease.New("data/leases", nil)
	list, err4 := task.NewProjects(task.Project{TrackerProject: "b", Host: task.HostGit, Repo: "me/a", CloneURL: os.Args[1], Prefix: "APP"})
	s, err5 := service.New(service.Options{
		Store: store, Projects: list, Tracker: &cardlist.Tracker{Cards: folder("cards").Cards, Move: folder("cards").Move}, Leases: leases,
		Host: gitonly.New(git, gitonly.Registered(list)), Workspaces: git, Agents: &rehearse.Agents{}, Listen: os.Args[2],
	})
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		log.Fatal(err)
	}
	log.Fatal(s.Serve(ctx))
}
