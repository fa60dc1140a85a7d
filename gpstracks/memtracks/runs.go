package memtracks

import (
	"context"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// SaveRun implements gpstracks.RunStore.
func (s *Store) SaveRun(ctx context.Context, r gpstracks.Run) (int64, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if r.ID == 0 {
		r.ID = int64(len(s.runs)) + 1
		s.runs = append(s.runs, r)
		return r.ID, nil
	}
	if r.ID < 0 || r.ID > int64(len(s.runs)) {
		return 0, &gpstracks.InvalidError{Field: "run id", Reason: "is of no run: save a new run with id 0"}
	}
	s.runs[r.ID-1] = r
	return r.ID, nil
}

// LastRuns implements gpstracks.RunStore.
func (s *Store) LastRuns(ctx context.Context) ([]gpstracks.Run, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var last []gpstracks.Run
	for _, r := range s.runs {
		i, ok := slices.BinarySearchFunc(last, r.Source, func(l gpstracks.Run, source string) int { return strings.Compare(l.Source, source) })
		if ok {
			last[i] = r
			continue
		}
		last = slices.Insert(last, i, r)
	}
	return last, nil
}

// Runs implements gpstracks.RunStore.
func (s *Store) Runs(ctx context.Context, f gpstracks.RunFilter) ([]gpstracks.Run, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var out []gpstracks.Run
	for _, r := range slices.Backward(s.runs) {
		if f.Match(r) {
			out = append(out, r)
		}
		if f.Limit > 0 && len(out) == f.Limit {
			break
		}
	}
	return out, nil
}
