// Package app makes the reference service of its settings: it opens the adapters that they
// name, once for examples/server and examples/demo, and gives them to package service.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/signalbox-dev/signalbox/adapters/chathook"
	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/adapters/oidc"
	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/adapters/slack"
	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Prefix begins the name of every setting.
const Prefix = "ORCH_"

// Settings is everything that can be set, read once from the environment.
type Settings struct {
	Config  string `env:"CONFIG" doc:"the settings file; unset: signalbox.yaml in the working directory, else in /etc/signalbox; none: no file"`
	DataDir string `env:"DATA_DIR" envDefault:"./data" doc:"database, worktrees and agent logs"`

	Listen      string          `env:"LISTEN" envDefault:"127.0.0.1:8080" doc:"address of the HTTP server, or unix:<path>"`
	Hosts       []string        `env:"HOSTS" doc:"names that clients may reach the server by, beside localhost and IP addresses; *: any"`
	HooksListen string          `env:"HOOKS_LISTEN" doc:"address that serves webhooks in the place of LISTEN; unset: LISTEN serves them"`
	Proxies     []limit.Trusted `env:"TRUSTED_PROXIES" doc:"proxies (127.0.0.1/32,…, uid:33 at a unix socket) whose X-Forwarded-For counts"`
	Links       links           `env:"LINKS" doc:"further entries of the dashboard's navigation, as name=address,…"`
	Projects    string          `env:"PROJECTS" envDefault:"projects.yaml" doc:"the project registry"`
	PublicURL   string          `env:"PUBLIC_URL" form:"url" doc:"address of this server as people reach it, for links in comments to its pages and to cards of its own board; unset: http:// and LISTEN, for those cards alone"`
	Tracker     string          `env:"TRACKER" envDefault:"plane" doc:"where cards are: plane, or board (the service's, on the dashboard)"`

	Engine   orchestrator.Options
	Features features.Set

	QG0TitleMax string `env:"QG0_TITLE_MAX" envDefault:"200" doc:"title limit of QG-0 in characters"`

	GitTimeout  time.Duration `env:"GIT_TIMEOUT" envDefault:"5m" doc:"time limit of one git call"`
	CallTimeout time.Duration `env:"CALL_TIMEOUT" envDefault:"20s" doc:"time limit of one request to Plane, GitHub or Telegram"`

	DatabaseSettings
	AccessSettings
	GatewaySettings
	AgentSettings
	JailSettings
	TrackSettings

	Plane    plane.Settings
	GitHub   github.Settings
	Telegram telegram.Options
	Slack    slack.Options
	Chat     chathook.Options
	OIDC     oidc.Options
	Proxy    access.Proxy
	GPSFiles gpsfile.Paths
	Layer    trackhttp.Options

	InsecureWebhooks bool `env:"INSECURE_WEBHOOKS" envDefault:"false" doc:"take webhooks without a secret"`

	LogLevel  string `env:"LOG_LEVEL" envDefault:"info" oneof:"debug,info,warn,error" doc:"debug, info, warn or error"`
	LogFormat string `env:"LOG_FORMAT" envDefault:"text" oneof:"text,json" doc:"text or json"`

	hidden *secret.Redactor // of all that is secret here, and of credentials in the environment
	level  *slog.LevelVar   // of the log; a reload changes it

	stages    string                    // file that has them in the place of the one beside the registry
	rehearses bool                      // its card is on a board of its own, wherever the registry has them
	from      *values                   // not printed with them: secrets are in there
	further   map[projectfile.Kind]kind // beside those of the program
}

// Load reads the settings of an environment (as from os.Environ), secrets from the files that
// it names, and the settings file. An error names every setting that is wrong, with its line in the file.
func Load(environ []string) (Settings, error) { return load(environ, nil) }

// load is Load with kinds beside those of the program.
func load(environ []string, further map[projectfile.Kind]kind) (Settings, error) {
	wrong := unknown(environ)
	all, err := readValues(environ)
	if err != nil {
		return Settings{}, errors.Join(err, wrong)
	}
	have := all.set
	s, err := env.ParseAsWithOptions[Settings](env.Options{Environment: have, Prefix: Prefix})
	if err != nil {
		return s, errors.Join(cmp.Or(wrongVariables(all), err), wrong)
	}
	s.further, s.from, s.level = further, all, new(slog.LevelVar)
	_ = s.level.UnmarshalText([]byte(s.LogLevel)) // it is one of them
	s.hidden = secret.NewRedactor(secret.Credentials(environ)...)
	s.Plane.Tokens = map[stage.Role]secret.String{}
	for _, name := range secretNames(have) {
		s.hidden.Hide(have[name], secret.Password(have[name]))
		if role, is := strings.CutPrefix(name, Prefix+"PLANE_TOKEN_"); is {
			s.Plane.Tokens[stage.Role(strings.ToLower(strings.ReplaceAll(role, "_", "-")))] = secret.New(have[name])
		}
	}
	for _, value := range s.Features.Traces.HeaderValues() {
		s.hidden.Hide(value)
	}
	s.hideKey(s.GitHub.AppKey.Reveal())
	s.DataDir, err = filepath.Abs(s.DataDir) // it is named to processes with directories of their own
	return s, errors.Join(err, s.check(), wrong)
}

func (s Settings) check() error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s %w", s.from.named(Prefix+name), fmt.Errorf(format, args...)))
	}
	if err := s.checkDatabase(); err != nil {
		wrong("DATABASE_URL", "%w", err)
	}
	trackers := s.kindsWith(func(k kind) bool { return k.own != nil && k.board != nil })
	if s.Tracker != trackerBoard && !slices.Contains(trackers, s.Tracker) {
		wrong("TRACKER", "is %q, want %s, or %s for a board of the service's own", s.Tracker, strings.Join(trackers, ", "), trackerBoard)
	}
	s.checkTags(wrong)
	if s.MaxConcurrencyTotal < 0 || s.MaxConcurrencyTotal > 0 && !s.Shared() {
		wrong("MAX_CONCURRENCY_TOTAL", "is %d, want 0 or more, and ORCH_DATABASE_URL: it bounds servers that share a PostgreSQL",
			s.MaxConcurrencyTotal)
	}
	s.checkJail(wrong)
	s.checkEgress(wrong)
	s.checkAccess(wrong)
	s.checkGateway(wrong)
	s.checkEvents(wrong)
	if d := s.Features.Retention.KeepDeliveries; d > 0 && d < retention.LeastDeliveries {
		wrong("KEEP_DELIVERIES", "is %s, want at least 7d, or 0 for ever: what is forgotten and comes again is acted upon twice", d)
	}
	for _, origin := range s.Layer.AllowOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || u.Path != "") {
			wrong("GPS_CORS_ORIGINS", "names %q, want origins such as https://example.org, or *", origin)
		}
	}
	for name, limit := range map[string]work.Dollars{
		"BUDGET_TASK_USD":     s.Features.BudgetTask,
		"BUDGET_REPO_DAY_USD": s.Features.BudgetRepoDay,
	} {
		if limit > 0 && limit < s.Features.BudgetRun {
			wrong(name, "is less than ORCH_BUDGET_RUN_USD, what one run is taken to cost: "+
				"no agent would ever start; raise it, or lower the other")
		}
	}
	if s.Features.BudgetRun == 0 {
		wrong("BUDGET_RUN_USD", "is 0, want more than 0")
	}
	s.Plane.Check(wrong)
	return errors.Join(errs...)
}

// checkTags holds settings against what their tags demand: spans of time are more than 0, numbers between min and
// max or, with zero, 0 as well, and words one of oneof, or of the form url or long (a secret of some length); a setting is set
// with another, or neither is.
func (s Settings) checkTags(wrong func(name, format string, args ...any)) {
	all := reflect.ValueOf(s)
	for _, f := range declared() {
		name, least, most := f.Tag.Get("env"), f.Tag.Get("min"), f.Tag.Get("max")
		if with := f.Tag.Get("with"); with != "" && all.FieldByIndex(f.Index).IsZero() == (s.from.set[Prefix+with] != "") {
			wrong(name, "and %s%s must be set together", Prefix, with)
		}
		var words []string
		switch value := all.FieldByIndex(f.Index).Interface().(type) {
		case time.Duration:
			if value <= 0 {
				wrong(name, "is %s, want more than 0", value)
			}
		case int:
			low, _ := strconv.Atoi(least)
			high, bounded := strconv.Atoi(most)
			switch why := f.Tag.Get("why"); {
			case bounded == nil && (value < low || value > high):
				wrong(name, "is %d, want %d to %d", value, low, high)
			case f.Tag.Get("zero") != "" && value != 0 && value < low:
				wrong(name, "is %d, want 0 or at least %d%s", value, low, why)
			case f.Tag.Get("zero") == "" && least != "" && value < low:
				wrong(name, "is %d, want at least %d", value, low)
			}
		case []string:
			words = value
		case string:
			words = []string{value}
			if u, err := url.Parse(value); f.Tag.Get("form") == "url" && value != "" && (err != nil || u.Host == "") {
				wrong(name, "is %q, want an address such as https://example.org", value)
			}
		case secret.String:
			if err := long(value.Reveal()); f.Tag.Get("form") == "long" && value.IsSet() && err != nil {
				wrong(name, "%w", err)
			}
		}
		known := strings.Split(f.Tag.Get("oneof"), ",")
		last := len(known) - 1
		for _, word := range words {
			if last > 0 && !slices.Contains(known, word) {
				wrong(name, "is %q, want %s or %s", word, strings.Join(known[:last], ", "), known[last])
			}
		}
	}
}

// NeedsToServe names what is missing to reach the board of the settings, where a registry uses it.
func (s Settings) NeedsToServe(p *task.Projects) error {
	var errs []error
	for _, n := range s.neighbours(projectfile.Neighbours{}) {
		if !n.isBoard || n.isUsed(p) {
			errs = append(errs, n.lacks)
		}
	}
	return errors.Join(errs...)
}

// checkNeeded names settings of a family that are not set, and whose tags say that they are needed.
func (s Settings) checkNeeded(family string) error {
	var errs []error
	for _, f := range declared() {
		name := f.Tag.Get("env")
		if f.Tag.Get("needed") != "" && strings.HasPrefix(name, family) && reflect.ValueOf(s).FieldByIndex(f.Index).IsZero() {
			errs = append(errs, fmt.Errorf("%s%s is not set", Prefix, name))
		}
	}
	return errors.Join(errs...)
}
