package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
)

// OpenSource opens a board that is only read, whether projects are on it or not: an entry of the registry by its name, what the
// settings describe by its kind, and of a git host the issues of its repositories.
func (s Settings) OpenSource(ctx context.Context, name string, log *slog.Logger) (BoardHost, error) {
	r, err := projectfile.Load(s.Projects, s.Kinds()...)
	if err != nil {
		return nil, err
	}
	kinds := s.kinds()
	if k := kinds[projectfile.Kind(name)]; k.board != nil && k.own != nil {
		s.Tracker = name // the board of the settings, whatever board they have chosen
	}
	s.InsecureWebhooks = true // none comes here
	list := s.neighbours(r.Neighbours)
	i := slices.IndexFunc(list, func(n neighbour) bool { return n.source() == name })
	if i < 0 {
		var names []string
		for _, n := range list {
			names = append(names, n.source())
		}
		return nil, fmt.Errorf("there is no board or host %q, want one of %s", name, strings.Join(names, ", "))
	}
	n := list[i]
	if !n.isBoard {
		n.isBoard, n.under, n.kind = true, n.kind, kinds[projectfile.KindLabels]
	}
	if err = n.lacks; err == nil && !strings.HasPrefix(n.TokenEnv, Prefix) {
		n.token, err = s.namedSecret(os.Getenv, n.TokenEnv, n.what())
	}
	if err != nil {
		return nil, err
	}
	s.hidden.Hide(n.token)
	b, err := n.board(&Service{Settings: s, Log: log}, n)
	if err != nil {
		return nil, fmt.Errorf("the %s: %w", n.what(), err)
	}
	return b, b.Identify(ctx)
}
