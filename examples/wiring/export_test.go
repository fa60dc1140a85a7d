package wiring

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

// FeatureNames are the features that the engine of a service is built of.
func (v *Service) FeatureNames() (names []string, err error) {
	list, err := v.features()
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names, err
}
