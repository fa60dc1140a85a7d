package memwork

import (
	"context"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Remains implements work.Disk.
func (p *Place) Remains(ctx context.Context) (out []work.Remains, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Remains"); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(p.checkout)) {
		out = append(out, p.opened[name])
	}
	return out, nil
}

// Remove implements work.Disk.
func (p *Place) Remove(ctx context.Context, r work.Remains) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Remove"); err != nil {
		return err
	}
	if p.opened[r.Name].Used.Equal(r.Used) {
		delete(p.checkout, r.Name)
		delete(p.left, r.Name)
	}
	return nil
}
