// Package app makes the reference service of its settings: it opens the adapters that they
// name, once for examples/server and examples/demo, and gives them to package service.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/retention"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Prefix begins the name of every setting.
const Prefix = "ORCH_"

// Settings is everything that can be set, read once from the environment.
type Settings struct {
	Config         string        `env:"CONFIG" doc:"the settings file; unset: signalbox.yaml in the working directory, else in /etc/signalbox; none: no file"`
	DataDir        string        `env:"DATA_DIR" envDefault:"./data" doc:"database, worktrees and agent logs"`
	DatabaseURL    secret.String `env:"DATABASE_URL" doc:"postgres://… = PostgreSQL, for replicas too; unset: SQLite in the data directory"`
	DatabaseSchema string        `env:"DATABASE_SCHEMA" envDefault:"signalbox" doc:"of the tables in PostgreSQL"`

	Listen      string         `env:"LISTEN" envDefault:"127.0.0.1:8080" doc:"address of the HTTP server"`
	Hosts       []string       `env:"HOSTS" doc:"names that clients may reach the server by, beside localhost and IP addresses; *: any"`
	HooksListen string         `env:"HOOKS_LISTEN" doc:"address that serves webhooks in the place of LISTEN; unset: LISTEN serves them"`
	Proxies     []netip.Prefix `env:"TRUSTED_PROXIES" doc:"proxies, as 127.0.0.1/32,…, whose X-Forwarded-For names senders, for limits"`
	Links       links          `env:"LINKS" doc:"further entries of the dashboard's navigation, as name=address,…"`
	Projects    string         `env:"PROJECTS" envDefault:"projects.yaml" doc:"the project registry"`
	PublicURL   string         `env:"PUBLIC_URL" form:"url" doc:"address of this server as people reach it, for links in comments to its pages and to cards of its own board; unset: http:// and LISTEN, for those cards alone"`
	Tracker     string         `env:"TRACKER" envDefault:"plane" doc:"where cards are: plane, or board (the service's own, on the dashboard)"`

	AdminToken     secret.String  `env:"ADMIN_TOKEN" form:"long" doc:"administrator's token, 128 bits (openssl rand -hex 32); signalbox token makes others"`
	PublicRead     bool           `env:"PUBLIC_READ" envDefault:"false" doc:"everybody who reaches the server may read; false: from this machine alone where LISTEN is a loopback address, else with the right viewer"`
	PublicMetrics  bool           `env:"PUBLIC_METRICS" envDefault:"false" doc:"everybody who reaches the server may read /metrics"`
	AccessRoles    access.Rules   `env:"ACCESS_ROLES" doc:"rights of people whom the identity provider or the proxy names, as group=role,user:name=role@owner/name+owner/name,*=viewer"`
	OIDCIssuer     string         `env:"OIDC_ISSUER" doc:"address of an OpenID Connect provider at which people sign in; needs PUBLIC_URL"`
	OIDCClientID   string         `env:"OIDC_CLIENT_ID" doc:"of this server there; its redirect address is PUBLIC_URL and /dashboard/session/return"`
	OIDCSecret     secret.String  `env:"OIDC_CLIENT_SECRET" doc:"of the client"`
	OIDCName       string         `env:"OIDC_NAME_CLAIM" envDefault:"email" doc:"claim that names people"`
	OIDCTrustEmail bool           `env:"OIDC_TRUST_EMAIL" doc:"believe addresses without email_verified, where nobody can choose one"`
	OIDCGroups     string         `env:"OIDC_GROUPS_CLAIM" envDefault:"groups" doc:"claim that lists their groups"`
	ProxyUser      string         `env:"PROXY_USER_HEADER" doc:"header in which a proxy names who has signed in, such as X-Forwarded-User"`
	ProxyGroups    string         `env:"PROXY_GROUPS_HEADER" doc:"header with their groups, separated by commas"`
	ProxyFrom      []netip.Prefix `env:"PROXY_USERS_FROM" doc:"proxies, as 10.0.0.5/32,…, whose PROXY_USER_HEADER is believed"`
	LogLevel       string         `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat      string         `env:"LOG_FORMAT" envDefault:"text" doc:"text or json"`

	Engine              orchestrator.Options
	Features            features.Set
	MaxConcurrencyTotal int `env:"MAX_CONCURRENCY_TOTAL" envDefault:"0" doc:"agents at a time of all servers on a PostgreSQL; 0: no bound"`

	AgentPrices  prices        `env:"AGENT_PRICES" doc:"of models whose agents report no cost, or of such agents by name (codex), in dollars for a million tokens: model=input/output/cache read/cache write,…"`
	ModelGateway string        `env:"MODEL_GATEWAY" doc:"address at which agents call models with a token of their run in the place of a key, such as 127.0.0.1:0 (any free port): their costs are measured; unset: they call the vendors themselves"`
	AnthropicKey secret.String `env:"ANTHROPIC_API_KEY" doc:"Anthropic's key, for the gateway; unset: it does not serve Anthropic's models"`
	AnthropicURL string        `env:"ANTHROPIC_URL" doc:"address of Anthropic's API for the gateway; unset: https://api.anthropic.com"`
	OpenAIKey    secret.String `env:"OPENAI_API_KEY" doc:"the same of OpenAI"`
	OpenAIURL    string        `env:"OPENAI_URL" doc:"without /v1; unset: https://api.openai.com"`
	GeminiKey    secret.String `env:"GEMINI_API_KEY" doc:"the same of Google's Gemini API"`
	GeminiURL    string        `env:"GEMINI_URL" doc:"unset: https://generativelanguage.googleapis.com"`

	QG0TitleMax string   `env:"QG0_TITLE_MAX" envDefault:"200" doc:"title limit of QG-0 in characters"`
	Agent       string   `env:"AGENT" envDefault:"claude" doc:"agent where the registry names none: claude, codex, gemini, opencode or a command"`
	AgentEnv    []string `env:"AGENT_ENV" doc:"further names that agents see of this environment, X_* for a prefix"`
	AgentHome   []string `env:"AGENT_HOME" doc:"files of HOME that agents get copies of, such as .npmrc; how they sign in is copied anyway"`

	Jail          string   `env:"JAIL" envDefault:"auto" doc:"how agents and checks are confined: auto (the best that this machine has, else refuse to start), container, bwrap, landlock, or none"`
	JailRead      []string `env:"JAIL_READ" doc:"further directories and files that agents may read and run"`
	JailWrite     []string `env:"JAIL_WRITE" doc:"further ones that agents may change, such as caches; they share them"`
	JailPorts     ports    `env:"JAIL_PORTS" envDefault:"22,80,443,32768-60999" doc:"TCP ports that agents may connect to, and listen at from 1024 up, or none; never the server's own"`
	JailSockets   bool     `env:"JAIL_UNIX_SOCKETS" envDefault:"false" doc:"agents may use all unix sockets: docker's is a way out"`
	JailImage     string   `env:"JAIL_IMAGE" doc:"image whose containers agents and checks run in; it has their tools, and is not pulled"`
	JailEngine    string   `env:"JAIL_ENGINE" doc:"podman, docker, or the path of one; empty = the first of them in PATH"`
	JailNetwork   string   `env:"JAIL_NETWORK" doc:"network of containers; empty = what the engine takes by itself"`
	Egress        string   `env:"EGRESS" envDefault:"off" doc:"hosts that agents and checks may reach: off (all, by JAIL_PORTS), or allow-list (those of the registry's egress, by a proxy for each run)"`
	JailCgroup    string   `env:"JAIL_CGROUP" envDefault:"auto" doc:"delegated cgroup (v2) in which each run gets its own: auto (the server's own, where it is delegated), none, or its directory"`
	JailMemoryMB  int      `env:"JAIL_MEMORY_MB" envDefault:"0" doc:"memory of a run in MiB, where a cgroup or container keeps it; 0 = no limit"`
	JailProcesses int      `env:"JAIL_PROCESSES" envDefault:"4096" doc:"processes and threads of a run, where a cgroup or container keeps it; 0 = no limit"`
	JailCPUWeight int      `env:"JAIL_CPU_WEIGHT" envDefault:"0" doc:"share of the processor of a run beside 100 of others, 1 to 10000, where a cgroup or a container keeps it; 0 = 100"`

	AgentTermGrace time.Duration `env:"AGENT_TERM_GRACE" envDefault:"20s" doc:"between TERM and KILL"`
	GitTimeout     time.Duration `env:"GIT_TIMEOUT" envDefault:"5m" doc:"time limit of one git call"`
	CallTimeout    time.Duration `env:"CALL_TIMEOUT" envDefault:"20s" doc:"time limit of one request to Plane, GitHub or Telegram"`

	PlaneURL       string        `env:"PLANE_URL" form:"url" doc:"address of Plane"`
	PlaneWorkspace string        `env:"PLANE_WORKSPACE" doc:"slug of the workspace"`
	PlaneToken     secret.String `env:"PLANE_TOKEN" doc:"shared API token"`
	PlaneSecret    secret.String `env:"PLANE_WEBHOOK_SECRET" form:"long" doc:"of Plane's webhook, at least 16 bytes; of projects that have none of their own"`
	PlaneSecretOld secret.String `env:"PLANE_WEBHOOK_SECRET_OLD" form:"long" doc:"is valid too, while the secret is replaced"`

	PlaneStates map[string]string `env:"PLANE_STATES" doc:"columns' ids (key:id,…) where a project's are unreadable; never Confirm Deploy"`

	AnalystToken   secret.String `env:"PLANE_TOKEN_ANALYST" doc:"comments of the analyst; unset: the shared token"`
	ArchitectToken secret.String `env:"PLANE_TOKEN_ARCHITECT" doc:"comments of the architect"`
	DeveloperToken secret.String `env:"PLANE_TOKEN_DEVELOPER" doc:"comments of the developer"`
	ReviewerToken  secret.String `env:"PLANE_TOKEN_REVIEWER" doc:"comments of the reviewer"`
	TesterToken    secret.String `env:"PLANE_TOKEN_TESTER" doc:"comments of the tester"`
	DeployerToken  secret.String `env:"PLANE_TOKEN_DEPLOYER" doc:"comments of the deployer"`
	StreamToken    secret.String `env:"PLANE_TOKEN_STREAM" doc:"comments about stage changes"`

	GitHubURL       string        `env:"GITHUB_URL" form:"url" doc:"address of the REST API; unset: GitHub's own"`
	GitHubToken     secret.String `env:"GITHUB_TOKEN" doc:"API token; not needed while no repository is on GitHub"`
	GitHubAppID     string        `env:"GITHUB_APP_ID" doc:"App ID or client ID of a GitHub App, which signs in in the place of a token"`
	GitHubAppKey    secret.String `env:"GITHUB_APP_KEY" doc:"its private key, the PEM file that GitHub gives for download"`
	GitHubApp       int64         `env:"GITHUB_INSTALLATION_ID" doc:"of the app; unset: that of each repository is looked up"`
	GitHubSecret    secret.String `env:"GITHUB_WEBHOOK_SECRET" form:"long" doc:"of GitHub's webhooks, at least 16 bytes (openssl rand -hex 32); of projects that have none of their own"`
	GitHubSecretOld secret.String `env:"GITHUB_WEBHOOK_SECRET_OLD" form:"long" doc:"is valid too, while the secret is replaced"`

	CloneBase string `env:"GITHUB_CLONE_BASE" envDefault:"https://github.com/" doc:"clone URLs that begin so are cloned with the API token"`

	GPSTracks     bool          `env:"GPS_TRACKS_ENABLED" envDefault:"true" doc:"public GPS tracks are served below /api/gps-tracks"`
	GPSSources    string        `env:"GPS_SOURCES" doc:"own gps_sources.yaml; unset: what is built in"`
	GPSRegions    string        `env:"GPS_REGIONS" doc:"own gps_regions.yaml, for the collector; unset: what is built in"`
	GPSLicences   string        `env:"GPS_LICENCES" doc:"own folder of licence records; unset: what is built in"`
	GPSContact    string        `env:"GPS_CONTACT" doc:"how sources can reach you; the collector sends it with every request"`
	GPSBaseURL    string        `env:"GPS_BASE_URL" form:"url" doc:"address of this server as maps reach it, for tiles.json, style.json and ogc; unset: the host that was asked"`
	GPSOrigins    []string      `env:"GPS_CORS_ORIGINS" doc:"pages that may read tracks, as https://example.org,… or * for all"`
	GPSTileMaxAge time.Duration `env:"GPS_TILE_MAX_AGE" envDefault:"5m" doc:"how long a map may keep a tile"`
	GPSCacheTiles int           `env:"GPS_CACHE_TILES" envDefault:"1024" min:"1" doc:"tiles that are kept in memory"`
	GPSMapBase    string        `env:"GPS_MAP_BASE" envDefault:"none" doc:"what /map/ draws tracks on: none, https://…/{z}/{x}/{y}.png, https://…/style.json or a file.pmtiles"`
	GPSMapImagery string        `env:"GPS_MAP_IMAGERY" doc:"imagery that people may choose, as https://…/{z}/{x}/{y}.jpg"`
	GPSMapCredit  string        `env:"GPS_MAP_ATTRIBUTION" doc:"whom the licences of these want named on the map, as HTML"`
	GPSRefresh    time.Duration `env:"GPS_REFRESH" envDefault:"5s" doc:"how often the server looks for tracks that a collector has brought"`

	InsecureWebhooks bool `env:"INSECURE_WEBHOOKS" envDefault:"false" doc:"take webhooks without a secret"`

	TelegramToken secret.String `env:"TELEGRAM_TOKEN" doc:"of the bot; unset: notices are only logged"`
	TelegramChat  string        `env:"TELEGRAM_CHAT_ID" doc:"of the chat"`
	TelegramURL   string        `env:"TELEGRAM_URL" form:"url" doc:"address of the Bot API; unset: Telegram's own"`

	hidden *secret.Redactor // of all that is secret here, and of credentials in the environment
	level  *slog.LevelVar   // of the log; a reload changes it

	rehearses bool    // its card is on a board of its own, wherever the registry has them
	from      *values // not printed with them: secrets are in there
}

// Load reads the settings of an environment (as from os.Environ), secrets from the files that
// it names, and the settings file. An error names every setting that is wrong, with its line in the file.
func Load(environ []string) (Settings, error) {
	all, err := readValues(environ)
	if err != nil {
		return Settings{}, errors.Join(err, unknown(environ))
	}
	have := all.set
	s, err := env.ParseAsWithOptions[Settings](env.Options{Environment: have, Prefix: Prefix})
	if err != nil {
		return s, errors.Join(cmp.Or(wrongVariables(all), err), unknown(environ))
	}
	s.from, s.level = all, new(slog.LevelVar)
	s.level.Set(logLevels()[s.LogLevel])
	s.hidden = secret.NewRedactor(secret.Credentials(environ)...)
	for _, name := range secretNames() {
		s.hidden.Hide(have[name], secret.Password(have[name]))
	}
	for _, value := range s.Features.Traces.HeaderValues() {
		s.hidden.Hide(value)
	}
	s.hideKey(s.GitHubAppKey.Reveal())
	s.DataDir, err = filepath.Abs(s.DataDir) // it is named to processes with directories of their own
	return s, errors.Join(err, s.check(), unknown(environ))
}

func (s Settings) check() error {
	var errs []error
	wrong := func(name, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s %w", s.from.named(Prefix+name), fmt.Errorf(format, args...)))
	}
	if err := s.checkDatabase(); err != nil {
		wrong("DATABASE_URL", "%w", err)
	}
	if err := s.checkTracker(); err != nil {
		wrong("TRACKER", "%w", err)
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
	for _, origin := range s.GPSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || u.Path != "") {
			wrong("GPS_CORS_ORIGINS", "names %q, want origins such as https://example.org, or *", origin)
		}
	}
	for _, source := range s.Features.DepsSource {
		if source != deps.SourceDB && source != deps.SourceTracker {
			wrong("TASK_DEPS_SOURCE", "is %q, want db, tracker or db,tracker", strings.Join(s.Features.DepsSource, ","))
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
	for key := range s.PlaneStates {
		if _, ok := stage.StatusNamed(stage.Status(key)); !ok {
			wrong("PLANE_STATES", "names the status %q, which does not exist", key)
		}
	}
	if s.TelegramToken.IsSet() != (s.TelegramChat != "") {
		wrong("TELEGRAM_CHAT_ID", "and ORCH_TELEGRAM_TOKEN must be set together")
	}
	if _, ok := logLevels()[s.LogLevel]; !ok {
		wrong("LOG_LEVEL", "is %q, want debug, info, warn or error", s.LogLevel)
	}
	if s.LogFormat != "text" && s.LogFormat != "json" {
		wrong("LOG_FORMAT", "is %q, want text or json", s.LogFormat)
	}
	return errors.Join(errs...)
}

// checkTags holds settings against what their tags demand: spans of time are more than 0, numbers between min and
// max, and words of the form url or long (a secret of some length).
func (s Settings) checkTags(wrong func(name, format string, args ...any)) {
	all := reflect.ValueOf(s)
	for _, f := range declared() {
		name, least, most := f.Tag.Get("env"), f.Tag.Get("min"), f.Tag.Get("max")
		switch value := all.FieldByIndex(f.Index).Interface().(type) {
		case time.Duration:
			if value <= 0 {
				wrong(name, "is %s, want more than 0", value)
			}
		case int:
			low, _ := strconv.Atoi(least)
			high, bounded := strconv.Atoi(most)
			switch {
			case bounded == nil && (value < low || value > high):
				wrong(name, "is %d, want %d to %d", value, low, high)
			case least != "" && value < low:
				wrong(name, "is %d, want at least %d", value, low)
			}
		case string:
			if u, err := url.Parse(value); f.Tag.Get("form") == "url" && value != "" && (err != nil || u.Host == "") {
				wrong(name, "is %q, want an address such as https://example.org", value)
			}
		case secret.String:
			if err := long(value.Reveal()); f.Tag.Get("form") == "long" && value.IsSet() && err != nil {
				wrong(name, "%w", err)
			}
		}
	}
}

// NeedsToServe names what is missing to reach the first tracker, where a registry uses it.
func (s Settings) NeedsToServe(p *task.Projects) error {
	var errs []error
	if (s.GitHubAppID != "") != s.GitHubAppKey.IsSet() {
		errs = append(errs, errors.New("ORCH_GITHUB_APP_KEY and ORCH_GITHUB_APP_ID must be set together"))
	}
	if s.GitHubAppKey.IsSet() && s.GitHubToken.IsSet() {
		errs = append(errs, errors.New("ORCH_GITHUB_TOKEN and ORCH_GITHUB_APP_KEY are set, and one signs in: take one of them away"))
	}
	if s.Tracker != trackerPlane || !s.usesFirst(p) {
		return errors.Join(errs...)
	}
	for name, value := range map[string]string{
		"PLANE_URL": s.PlaneURL, "PLANE_WORKSPACE": s.PlaneWorkspace, "PLANE_TOKEN": s.PlaneToken.Reveal(),
	} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s%s is not set", Prefix, name))
		}
	}
	return errors.Join(errs...)
}

func (s Settings) roleTokens() map[stage.Role]string {
	return map[stage.Role]string{
		stage.Analyst:   s.AnalystToken.Reveal(),
		stage.Architect: s.ArchitectToken.Reveal(),
		stage.Developer: s.DeveloperToken.Reveal(),
		stage.Reviewer:  s.ReviewerToken.Reveal(),
		stage.Tester:    s.TesterToken.Reveal(),
		stage.Deployer:  s.DeployerToken.Reveal(),
		stage.Stream:    s.StreamToken.Reveal(),
	}
}

func (s Settings) states() map[stage.Status]string {
	out := map[stage.Status]string{}
	for key, id := range s.PlaneStates {
		out[stage.Status(key)] = id
	}
	return out
}

// strangers lists variables of the environment that begin like settings and are
// none: typing errors, mostly.
func strangers(environ []string) []string {
	known := map[string]bool{}
	for key, f := range settingFields() {
		name := Prefix + strings.ToUpper(key)
		known[name] = true
		known[name+fileSuffix] = isSecret(f)
	}
	var out []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, Prefix) && !known[name] {
			out = append(out, name)
		}
	}
	return out
}

// Environ is the environment of this process.
func Environ() []string { return os.Environ() }
