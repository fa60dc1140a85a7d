package app

import (
	"context"
	"log/slog"
)

// Walls are the kind of jail that the settings find on this machine, and its words.
func (s Settings) Walls(ctx context.Context, program []string) (kind, said string, err error) {
	v := &Service{Settings: s, Log: slog.New(slog.DiscardHandler)}
	err = v.confine(ctx, program)
	return v.walls.kind(), v.walls.String(), err
}

// MendModes mends modes as each start and the loop of a service do.
func (s Settings) MendModes(log *slog.Logger) error {
	return (&Service{Settings: s, Log: log}).mendModes()
}
