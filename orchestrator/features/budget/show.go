package budget

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
)

// view is the block in /queue. Amounts are millionths of a dollar.
type view struct {
	Enabled bool            `json:"enabled"`
	TaskCap int64           `json:"task_cap_micro_usd,omitempty"`
	DayCap  int64           `json:"repo_day_cap_micro_usd,omitempty"`
	Run     int64           `json:"run_micro_usd"`
	Day     string          `json:"day"` // UTC
	Repos   []spent         `json:"repos"`
	Waiting []admit.Waiting `json:"waiting"`
}

// spent is the account of a repository today.
type spent struct {
	Repo     string   `json:"repo"`
	Spent    int64    `json:"spent_micro_usd"`
	Silent   int64    `json:"of_it_unreported_micro_usd,omitempty"` // taken for runs that reported no usage
	Reserved int64    `json:"reserved_micro_usd"`
	Unpriced []string `json:"unpriced_models,omitempty"`
}

func (b *Budget) show(ctx context.Context) (any, error) {
	now, c := b.opt.Now().UTC(), b.opt.Caps
	v := view{
		Enabled: true, TaskCap: c.Task, DayCap: c.RepoDay, Run: c.Run, Day: now.Format(time.DateOnly),
		Repos: []spent{},
	}
	var err error
	if v.Waiting, err = admit.ListWaiting(ctx, b.opt.Store, b.rule(), ""); err != nil {
		return nil, err
	}
	for _, p := range b.opt.Projects.All() {
		a, err := b.today(ctx, p.Repo)
		if err != nil {
			return nil, err
		}
		v.Repos = append(v.Repos, spent{Repo: p.Repo, Spent: a.spent, Silent: a.silent, Reserved: a.reserved, Unpriced: a.unpriced})
	}
	return v, nil
}

func (b *Budget) today(ctx context.Context, repo string) (account, error) {
	reserved, err := b.opt.Store.Reservations(ctx, repo)
	if err != nil {
		return account{}, err
	}
	return b.dayAccount(ctx, repo, b.opt.Now().UTC(), reserved, nil)
}

// Spent returns what the agents of a repository have cost today (UTC), with what is reserved, in
// millionths of a dollar.
func (b *Budget) Spent(ctx context.Context, repo string) (int64, error) {
	a, err := b.today(ctx, repo)
	return a.spent + a.reserved, err
}
