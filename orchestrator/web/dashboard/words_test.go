package dashboard

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func TestSpan(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 s": -time.Hour, "59 s": 59 * time.Second, "1 min": 119 * time.Second, "1 h": time.Hour, "1 h 1 min": 61 * time.Minute, "23 h 59 min": 24*time.Hour - 1, "2 d": 71 * time.Hour,
	} {
		require.Equal(t, want, span(d))
	}
}

func TestTokens(t *testing.T) {
	for want, n := range map[string]int64{"0": 0, "999": 999, "1 k": 1000, "12.3 k": 12_340, "123 k": 123_400, "1 M": 999_999, "1.5 M": 1_500_000, "1200 M": 1_200_000_000} {
		require.Equal(t, want, tokens(n))
	}
}

func TestLinked(t *testing.T) {
	require.Equal(t, `<bdi>&amp; <a href="../tasks/12">task 12</a> waits; multitask 3</bdi>`, string(linked("../", "& task 12 waits; multitask 3")))
	require.Equal(t, `<bdi>&lt;script&gt;</bdi>`, string(linked("./", "<script>\u202e\u2066")))
	require.Equal(t, `<bdi>task 12345678901234567890</bdi>`, string(linked("./", "task 12345678901234567890")), "no id is so long")
}

// The plot's bars add up to the day's cost, stay inside it, and repositories that
// have no colour of their own share one.
func TestPlot(t *testing.T) {
	first := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.IntRange(1, 90).Draw(t, "days")
		repos := []string{"a", "b", "c", "d", "e", "f", "g", ""}[:rapid.IntRange(1, 8).Draw(t, "repos")]
		var list []task.DayCost
		sums := map[int]int64{}
		for range rapid.IntRange(0, 40).Draw(t, "n") {
			day, amount := rapid.IntRange(-1, days).Draw(t, "day"), rapid.Int64Range(0, 1e9).Draw(t, "amount")
			list = append(list, task.DayCost{
				Day: first.AddDate(0, 0, day), Repo: rapid.SampledFrom(repos).Draw(t, "repo"), Cost: task.Cost{Usage: work.Usage{MicroUSD: amount}},
			})
			if day >= 0 && day < days {
				sums[day] += amount
			}
		}
		p := draw(list, first, days)
		top := float64(0)
		for _, s := range sums {
			top = max(top, float64(s))
		}
		step := float64(plotWidth-plotLeft-plotRight) / float64(days)
		heights := map[int]float64{}
		for _, b := range p.Bars {
			require.True(t, b.H > 0 && b.Y >= plotTop-0.01 && b.Y+b.H <= float64(p.Base)+0.01 && b.X >= plotLeft && b.X+b.W <= plotWidth, "%+v", b)
			require.Less(t, b.Class, seriesMax)
			heights[int((b.X-plotLeft)/step)] += b.H
		}
		scale := float64(p.Base-plotTop) / float64(nice(int64(top), 10_000))
		for day := range days {
			require.InDelta(t, float64(sums[day])*scale, heights[day], 0.01)
		}
	})
}

func TestNice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1e15).Draw(t, "n")
		require.GreaterOrEqual(t, nice(n, 10_000), n)
		require.LessOrEqual(t, nice(n, 10_000), max(2*n, 10_000))
	})
}

// A stage that only a feature leads to is drawn where a task is there, or was.
func TestRuledStages(t *testing.T) {
	p := stage.Of(slices.DeleteFunc(stage.DefaultStages(), func(i stage.Info) bool { return i.Stage == stage.DeployStaging })...).Ruled(stage.DeployStaging)
	s, at := &server{}, []task.Task{{State: stage.State{Stage: stage.DeployStaging}}}
	require.Len(t, s.columns(p, nil, nil, boardFilter{}), 6)
	require.Len(t, s.columns(p, at, make([]explain.Explanation, 1), boardFilter{}), 7)
	drawn := func(here stage.Stage) bool {
		return slices.ContainsFunc(marks(p, stage.State{Stage: here}, nil), func(m stageMark) bool { return m.Stage == stage.DeployStaging })
	}
	require.False(t, drawn(stage.Deploy))
	require.True(t, drawn(stage.DeployStaging))
}

// What the pages read of features' blocks is what these show, as the API is described.
func TestBlocksAreDescribed(t *testing.T) {
	api, err := os.ReadFile("../openapi.json")
	require.NoError(t, err)
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		for i := 0; of.Kind() == reflect.Struct && i < of.NumField(); i++ {
			if name := of.Field(i).Tag.Get("json"); name != "" && name != "-" {
				require.Contains(t, string(api), strconv.Quote(name))
			}
			check(of.Field(i).Type)
		}
	}
	check(reflect.TypeFor[blocks]())
}
