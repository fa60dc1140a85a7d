package app_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// Every setting has a name, a meaning, and a default that is good.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range app.List(nil) {
		require.NotEmpty(t, s.Doc, s.Name)
		require.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
	}
	load(t, nil)
	_, err := app.Load([]string{"ORCH_TYPO=1", "ORCH_LISTEM=x", "PATH=y"})
	require.EqualError(t, err, "ORCH_TYPO is no setting of this program (config lists all)\nORCH_LISTEM is no setting of this program; did you mean ORCH_LISTEN? (config lists all)")
}

// A database is named for people, and what is secret in its URL is not.
func TestDatabase(t *testing.T) {
	file, err := filepath.Abs("data/signalbox.db")
	require.NoError(t, err)
	for given, want := range map[string]string{
		"": "SQLite, " + file,
		"postgres://kim:hidden@db.example.org:5432/box?sslmode=require": "PostgreSQL, database box at db.example.org:5432, schema signalbox",
		"postgresql:///box?host=/run/pg&password=hidden":                "PostgreSQL, database box at /run/pg, schema signalbox",
		"postgres://a,b:5433/box?target_session_attrs=read-write":       "PostgreSQL, database box at a,b:5433, schema signalbox",
	} {
		s, err := app.Load([]string{"ORCH_DATABASE_URL=" + given})
		require.NoError(t, err, given)
		require.Equal(t, want, s.Database())
	}
	for _, given := range []string{"hidden", "mysql://u:hidden@h/n", "/data/hidden.db", "postgres://u:hidden%zz@h/n"} {
		_, err := app.Load([]string{"ORCH_DATABASE_URL=" + given})
		require.ErrorContains(t, err, "ORCH_DATABASE_URL ", given)
		require.ErrorContains(t, err, "postgres://user@host/name")
		require.NotContains(t, err.Error(), "hidden")
	}
	_, err = app.Load([]string{"ORCH_MAX_CONCURRENCY_TOTAL=3"})
	require.ErrorContains(t, err, "ORCH_MAX_CONCURRENCY_TOTAL is 3")
	load(t, []string{"ORCH_MAX_CONCURRENCY_TOTAL=3", "ORCH_DATABASE_URL=postgres://h/n"})
}

// An address for events that is none is refused at once, and not repeated: it may hold a token.
func TestEventsURL(t *testing.T) {
	_, err := app.Load([]string{"ORCH_EVENTS_URL=example.org/?token=hidden"})
	require.EqualError(t, err, "ORCH_EVENTS_URL is no address such as https://example.org/events")
}

func Example() {
	_, err := app.Load([]string{"ORCH_MAX_CONCURRENCY=0", "ORCH_LOG_FORMAT=xml"})
	fmt.Println(err)
	// Output:
	// ORCH_MAX_CONCURRENCY is 0, want at least 1
	// ORCH_LOG_FORMAT is "xml", want text or json
}

func TestMoney(t *testing.T) {
	for text, want := range map[string]string{
		"ORCH_BUDGET_TASK_USD=5":                                    "",
		"ORCH_BUDGET_TASK_USD=1.00":                                 "",
		"ORCH_BUDGET_TASK_USD=0.999999":                             "ORCH_BUDGET_TASK_USD is less than ORCH_BUDGET_RUN_USD",
		"ORCH_BUDGET_REPO_DAY_USD=0.5":                              "ORCH_BUDGET_REPO_DAY_USD is less than",
		"ORCH_BUDGET_REPO_DAY_USD=-5":                               `ORCH_BUDGET_REPO_DAY_USD: "-5", want an amount in dollars`,
		"ORCH_BUDGET_TASK_USD=1e3":                                  "ORCH_BUDGET_TASK_USD",
		"ORCH_BUDGET_TASK_USD=1.1234567":                            "ORCH_BUDGET_TASK_USD",
		"ORCH_BUDGET_RUN_USD=0":                                     "ORCH_BUDGET_RUN_USD is 0",
		"ORCH_AGENT_PRICES=gpt-5=1.25/10/0.125/0,llama3:8b=0/0/0/0": "",
		"ORCH_AGENT_PRICES=gpt-5=1.25/10":                           `ORCH_AGENT_PRICES: "gpt-5=1.25/10", want model=input/output`,
		"ORCH_AGENT_PRICES=gpt-5=1.25/10/free/0":                    "ORCH_AGENT_PRICES",
		"ORCH_BUDGET_RUN_USD=0.25 ORCH_BUDGET_TASK_USD=0.25":        "",
	} {
		_, err := app.Load(strings.Fields(text))
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}

func TestKeep(t *testing.T) {
	for text, want := range map[string]string{
		"ORCH_KEEP_JOBS=0":            "",
		"ORCH_KEEP_LOGS=36h":          "",
		"ORCH_KEEP_LEFT=365d":         "",
		"ORCH_KEEP_DELIVERIES=7d":     "",
		"ORCH_KEEP_DELIVERIES=0d":     "",
		"ORCH_KEEP_JOBS=30":           "ORCH_KEEP_JOBS: \"30\", want days or hours such as 30d or 36h, or 0 for ever",
		"ORCH_KEEP_JOBS=-1d":          "ORCH_KEEP_JOBS",
		"ORCH_KEEP_JOBS=1.5d":         "ORCH_KEEP_JOBS",
		"ORCH_KEEP_LOGS=10s":          "ORCH_KEEP_LOGS",
		"ORCH_KEEP_LEFT=99999999999d": "ORCH_KEEP_LEFT",
		"ORCH_KEEP_DELIVERIES=6d":     "ORCH_KEEP_DELIVERIES is 6d, want at least 7d",
	} {
		_, err := app.Load([]string{text})
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
	}
}
