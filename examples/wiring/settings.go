// Package wiring makes the reference service of its settings: it opens the adapters that they
// name, once for examples/server and examples/demo, and gives them to package service.
package wiring

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Prefix begins the name of every setting.
const Prefix = "ORCH_"

// Settings is everything that can be set, read once from the environment.
type Settings struct {
	Config         string         `env:"CONFIG" doc:"the settings file; unset: signalbox.yaml of the working directory, else /etc/signalbox/signalbox.yaml; none: no file"`
	DataDir        string         `env:"DATA_DIR" envDefault:"./data" doc:"database, worktrees and agent logs"`
	DatabaseURL    secret.String  `env:"DATABASE_URL" doc:"postgres://… = PostgreSQL, for one or more replicas; unset: an SQLite file in the data directory"`
	DatabaseSchema string         `env:"DATABASE_SCHEMA" envDefault:"signalbox" doc:"of the tables in PostgreSQL"`
	Listen         string         `env:"LISTEN" envDefault:"127.0.0.1:8080" doc:"address of the HTTP server"`
	Hosts          []string       `env:"HOSTS" doc:"names that browsers and clients may reach the server by, beside localhost and IP addresses; *: any"`
	HooksListen    string         `env:"HOOKS_LISTEN" doc:"address of a listener for webhooks alone, which LISTEN serves no more then; unset: LISTEN serves them"`
	Proxies        []netip.Prefix `env:"TRUSTED_PROXIES" doc:"networks of proxies whose X-Forwarded-For says who sends, as 127.0.0.1/32,…; limits hold for each sender"`
	Links          links          `env:"LINKS" doc:"further entries of the dashboard's navigation, as name=address,…"`
	Projects       string         `env:"PROJECTS" envDefault:"projects.yaml" doc:"the project registry"`
	PublicURL      string         `env:"PUBLIC_URL" doc:"address of this server as people reach it, for links in comments to its pages and to cards of its own board; unset: http:// and LISTEN, for those cards alone"`
	Tracker        string         `env:"TRACKER" envDefault:"plane" doc:"where cards are: plane, or board, which the service keeps itself and shows on the dashboard"`
	AdminToken     secret.String  `env:"ADMIN_TOKEN" doc:"token of an administrator, of 128 bits (openssl rand -hex 32); others are made with signalbox token"`
	PublicRead     bool           `env:"PUBLIC_READ" envDefault:"false" doc:"everybody who reaches the server may read; false: from this machine alone where LISTEN is a loopback address, else with the right viewer"`
	PublicMetrics  bool           `env:"PUBLIC_METRICS" envDefault:"false" doc:"everybody who reaches the server may read /metrics"`
	AccessRoles    access.Rules   `env:"ACCESS_ROLES" doc:"rights of people whom the identity provider or the proxy names, as group=role,user:name=role@owner/name+owner/name,*=viewer"`
	OIDCIssuer     string         `env:"OIDC_ISSUER" doc:"address of an OpenID Connect provider at which people sign in; needs PUBLIC_URL"`
	OIDCClientID   string         `env:"OIDC_CLIENT_ID" doc:"of this server there; its redirect address is PUBLIC_URL and /dashboard/session/return"`
	OIDCSecret     secret.String  `env:"OIDC_CLIENT_SECRET" doc:"of the client"`
	OIDCName       string         `env:"OIDC_NAME_CLAIM" envDefault:"email" doc:"claim that names people"`
	OIDCTrustEmail bool           `env:"OIDC_TRUST_EMAIL" doc:"believe the provider's addresses without email_verified, where nobody can choose one"`
	OIDCGroups     string         `env:"OIDC_GROUPS_CLAIM" envDefault:"groups" doc:"claim that lists their groups"`
	ProxyUser      string         `env:"PROXY_USER_HEADER" doc:"header in which a proxy names whom it has signed in, such as X-Forwarded-User"`
	ProxyGroups    string         `env:"PROXY_GROUPS_HEADER" doc:"header with their groups, separated by commas"`
	ProxyFrom      []netip.Prefix `env:"PROXY_USERS_FROM" doc:"networks of the proxies whose PROXY_USER_HEADER is believed, as 10.0.0.5/32,…"`
	EventsURL      secret.String  `env:"EVENTS_URL" doc:"address that each change of a task is posted to, as a CloudEvent; unset: none"`
	EventsSecret   secret.String  `env:"EVENTS_SECRET" doc:"signs these events, as Standard Webhooks are"`
	OTLPURL        secret.String  `env:"OTLP_URL" doc:"OpenTelemetry collector (OTLP over HTTP) that the life of each task is sent to as a trace when it has ended, such as http://127.0.0.1:4318; unset: none"`
	OTLPHeaders    secret.String  `env:"OTLP_HEADERS" doc:"name=value,… that are sent with each trace, such as a key"`
	LogLevel       string         `env:"LOG_LEVEL" envDefault:"info" doc:"debug, info, warn or error"`
	LogFormat      string         `env:"LOG_FORMAT" envDefault:"text" doc:"text or json"`

	MaxConcurrency      int             `env:"MAX_CONCURRENCY" envDefault:"2" doc:"agents at a time"`
	MaxConcurrencyTotal int             `env:"MAX_CONCURRENCY_TOTAL" envDefault:"0" doc:"agents at a time of all servers that share a PostgreSQL; 0: no bound"`
	MaxDeveloperRetries int             `env:"MAX_DEVELOPER_RETRIES" envDefault:"3" doc:"times that a task is sent back before a human is asked"`
	WaitComment         bool            `env:"WAIT_COMMENT_ENABLED" envDefault:"true" doc:"one comment on each card that waits says what for"`
	LiveMessage         bool            `env:"LIVE_MESSAGE_ENABLED" envDefault:"true" doc:"one chat message for each task shows where it stands"`
	StopStatus          bool            `env:"STOP_STATUS_ENABLED" envDefault:"true" doc:"STOP on the board cancels a task"`
	WorkDone            bool            `env:"WORK_DONE_ENABLED" envDefault:"true" doc:"a task whose branch changes nothing but its own documents leaves development by a person's word alone"`
	SerialGate          bool            `env:"SERIAL_GATE_ENABLED" envDefault:"true" doc:"one task of a repository begins at a time"`
	SerialGateRepos     []string        `env:"SERIAL_GATE_REPOS" doc:"owner/name,… or * for all; unset: the repositories with self_hosting"`
	WIP                 bool            `env:"WIP_ENABLED" envDefault:"true" doc:"where the serial gate is not, so many tasks of a repository are in work at a time as the registry's wip says"`
	TaskDeps            bool            `env:"TASK_DEPS_ENABLED" envDefault:"true" doc:"a task waits for the tasks that it depends on"`
	TaskDepsSource      []string        `env:"TASK_DEPS_SOURCE" envDefault:"db,tracker" doc:"where dependencies come from: db (the local table), tracker (relations of cards) or both"`
	MergeGate           bool            `env:"MERGE_GATE_ENABLED" envDefault:"true" doc:"a branch is brought up to date and tested again before it is merged; false: only one that is behind main"`
	MergeGateRepos      []string        `env:"MERGE_GATE_REPOS" doc:"owner/name,… or * for all; unset: the repositories with self_hosting"`
	RebaseAlways        bool            `env:"PREMERGE_REBASE_ALWAYS" envDefault:"true" doc:"make branches straight even when they have all of main"`
	MergeDeferMax       int             `env:"MERGE_DEFER_MAX" envDefault:"20" doc:"how often a merge is put off because main has moved under it"`
	MergeDeferDelay     time.Duration   `env:"MERGE_DEFER_DELAY" envDefault:"60s" doc:"how often the lines for the merge leases are put right"`
	MergeLineMax        time.Duration   `env:"MERGE_LINE_MAX" envDefault:"24h" doc:"a task that stands in line for the merge lease for so long is Blocked, with the name of who has it"`
	MergeLeaseTTL       time.Duration   `env:"MERGE_LEASE_TTL" envDefault:"30m" doc:"a merge lease that nobody renews is free after this long"`
	Reconcile           bool            `env:"RECONCILE_ENABLED" envDefault:"true" doc:"lost events are found and replayed"`
	ReconcileTracker    bool            `env:"RECONCILE_TRACKER_ENABLED" envDefault:"true" doc:"the reconciler reads boards too"`
	ReconcileInterval   time.Duration   `env:"RECONCILE_INTERVAL" envDefault:"60s" doc:"how often the reconciler looks"`
	ReconcileGrace      graces          `env:"RECONCILE_GRACE" envDefault:"development:10m" doc:"how long a stage may stand still, as stage:duration,…; others 5 min"`
	GitPoll             time.Duration   `env:"GIT_POLL" envDefault:"30s" doc:"how often repositories without a git host are looked at while a task is under way there"`
	Monitor             bool            `env:"MONITOR_ENABLED" envDefault:"true" doc:"what was deployed is looked at for a while"`
	MonitorWindow       time.Duration   `env:"MONITOR_WINDOW" envDefault:"15m" doc:"for how long"`
	MonitorInterval     time.Duration   `env:"MONITOR_INTERVAL" envDefault:"30s" doc:"how often"`
	MonitorFailures     int             `env:"MONITOR_FAILURES" envDefault:"3" doc:"bad looks in a row that count as degraded"`
	Freezes             bool            `env:"SERIAL_GATE_FREEZE_ENABLED" envDefault:"true" doc:"a degraded deployment freezes its repository"`
	BudgetTask          dollars         `env:"BUDGET_TASK_USD" envDefault:"0" doc:"what a task may cost in dollars; 0: no cap"`
	BudgetRepoDay       dollars         `env:"BUDGET_REPO_DAY_USD" envDefault:"0" doc:"what the tasks of a repository may cost on one day (UTC); 0: no cap"`
	BudgetRun           dollars         `env:"BUDGET_RUN_USD" envDefault:"1.00" doc:"what a run is taken to cost until it is known, where there is a cap"`
	AgentPrices         prices          `env:"AGENT_PRICES" doc:"of models whose agents report no cost, or of such agents by name (codex), in dollars for a million tokens: model=input/output/cache read/cache write,…"`
	ModelGateway        string          `env:"MODEL_GATEWAY" doc:"address at which agents call models with a token of their run in the place of a key, such as 127.0.0.1:0 (any free port): their costs are measured; unset: they call the vendors themselves"`
	AnthropicKey        secret.String   `env:"ANTHROPIC_API_KEY" doc:"key of Anthropic that the gateway of models calls with; unset: it does not serve Anthropic's models"`
	AnthropicURL        string          `env:"ANTHROPIC_URL" doc:"address of Anthropic's API for the gateway; unset: https://api.anthropic.com"`
	OpenAIKey           secret.String   `env:"OPENAI_API_KEY" doc:"the same of OpenAI"`
	OpenAIURL           string          `env:"OPENAI_URL" doc:"without /v1; unset: https://api.openai.com"`
	GeminiKey           secret.String   `env:"GEMINI_API_KEY" doc:"the same of Google's Gemini API"`
	GeminiURL           string          `env:"GEMINI_URL" doc:"unset: https://generativelanguage.googleapis.com"`
	AgentPause          bool            `env:"AGENT_PAUSE_ENABLED" envDefault:"true" doc:"an agent that cannot work for any task (login, credit, limits) is paused for all, with one notice, in the place of failures of each task"`
	QG0TitleMax         string          `env:"QG0_TITLE_MAX" envDefault:"200" doc:"title limit of QG-0 in characters"`
	Agent               string          `env:"AGENT" envDefault:"claude" doc:"agent of roles that the registry gives none: claude, codex, gemini, opencode or a command"`
	AgentEnv            []string        `env:"AGENT_ENV" doc:"further names that agents see of this environment, X_* for a prefix"`
	AgentHome           []string        `env:"AGENT_HOME" doc:"further files of HOME that agents get copies of, such as .npmrc; how the agent signs in is copied anyway"`
	Jail                string          `env:"JAIL" envDefault:"auto" doc:"how agents and checks are confined: auto (the best that this machine has, else refuse to start), container, bwrap, landlock, or none"`
	JailRead            []string        `env:"JAIL_READ" doc:"further directories and files that agents may read and run"`
	JailWrite           []string        `env:"JAIL_WRITE" doc:"further ones that agents may change, such as caches; they share them"`
	JailPorts           ports           `env:"JAIL_PORTS" envDefault:"22,80,443,32768-60999" doc:"TCP ports that agents may connect to, and listen at from 1024 up, or none; never the server's own"`
	JailSockets         bool            `env:"JAIL_UNIX_SOCKETS" envDefault:"false" doc:"agents may use unix sockets, all of them: the docker daemon's is a way out"`
	JailImage           string          `env:"JAIL_IMAGE" doc:"image whose containers agents and checks run in; it has their tools, and is not pulled"`
	JailEngine          string          `env:"JAIL_ENGINE" doc:"podman, docker, or the path of one; empty = the first of them in PATH"`
	JailNetwork         string          `env:"JAIL_NETWORK" doc:"network of containers; empty = what the engine takes by itself"`
	Egress              string          `env:"EGRESS" envDefault:"off" doc:"hosts that agents and checks may reach: off (all, by JAIL_PORTS), or allow-list (those of the registry's egress, by a proxy for each run)"`
	JailCgroup          string          `env:"JAIL_CGROUP" envDefault:"auto" doc:"delegated cgroup (v2) in which each run gets its own: auto (the server's own, where it is delegated), none, or its directory"`
	JailMemoryMB        int             `env:"JAIL_MEMORY_MB" envDefault:"0" doc:"memory of a run in MiB, where a cgroup or a container keeps it; 0 = no limit"`
	JailProcesses       int             `env:"JAIL_PROCESSES" envDefault:"4096" doc:"processes and threads of a run, where a cgroup or a container keeps it; 0 = no limit"`
	JailCPUWeight       int             `env:"JAIL_CPU_WEIGHT" envDefault:"0" doc:"share of the processor of a run beside 100 of others, 1 to 10000, where a cgroup or a container keeps it; 0 = 100"`
	AgentTimeout        time.Duration   `env:"AGENT_TIMEOUT" envDefault:"60m" doc:"time limit of an agent"`
	ProbeWait           time.Duration   `env:"PROBE_WAIT" envDefault:"10m" doc:"how long a deployment has until the registry's probe answers with the commit"`
	VerifyTimeout       time.Duration   `env:"VERIFY_TIMEOUT" envDefault:"30m" doc:"time limit of each command of the registry's verify"`
	GateTimeout         time.Duration   `env:"GATE_TIMEOUT" envDefault:"10m" doc:"time limit of each command of the registry's gates"`
	AgentTermGrace      time.Duration   `env:"AGENT_TERM_GRACE" envDefault:"20s" doc:"between TERM and KILL"`
	AgentRetryDelays    []time.Duration `env:"AGENT_RETRY_DELAYS" envDefault:"30s,2m,10m" doc:"waits before a failed agent is tried again"`
	CIPoll              time.Duration   `env:"CI_POLL" envDefault:"30s" doc:"how often CI is looked at while no webhook comes"`
	CIWait              time.Duration   `env:"CI_WAIT" envDefault:"6h" doc:"how long a task waits for the CI of a commit before it is blocked and a human is asked"`
	JobTTL              time.Duration   `env:"JOB_TTL" envDefault:"30s" doc:"a claim without a heartbeat for this long is given back"`
	Poll                time.Duration   `env:"POLL" envDefault:"1s" doc:"how often queues are looked at without a hint"`
	StatusDefer         time.Duration   `env:"STATUS_DEFER" envDefault:"500ms" doc:"how long a board event waits before it looks at the board again"`
	GitTimeout          time.Duration   `env:"GIT_TIMEOUT" envDefault:"5m" doc:"time limit of one git call"`
	CallTimeout         time.Duration   `env:"CALL_TIMEOUT" envDefault:"20s" doc:"time limit of one request to Plane, GitHub or Telegram"`
	KeepJobs            span            `env:"KEEP_JOBS" envDefault:"30d" doc:"how long jobs are kept that have ended, once their task has; 0: for ever"`
	KeepDeliveries      span            `env:"KEEP_DELIVERIES" envDefault:"90d" doc:"how long a webhook that comes again is known; 0: for ever"`
	KeepLogs            span            `env:"KEEP_LOGS" envDefault:"30d" doc:"how long agents' logs are kept, once their task has ended; 0: for ever"`
	KeepLeft            span            `env:"KEEP_LEFT" envDefault:"90d" doc:"how long is kept what attempts have left uncommitted, once their task has ended; 0: for ever"`

	PlaneURL       string        `env:"PLANE_URL" doc:"address of Plane"`
	PlaneWorkspace string        `env:"PLANE_WORKSPACE" doc:"slug of the workspace"`
	PlaneToken     secret.String `env:"PLANE_TOKEN" doc:"shared API token"`
	PlaneSecret    secret.String `env:"PLANE_WEBHOOK_SECRET" doc:"of Plane's webhook, at least 16 bytes; of projects that have none of their own"`
	PlaneSecretOld secret.String `env:"PLANE_WEBHOOK_SECRET_OLD" doc:"is valid too, while the secret is replaced"`

	PlaneStates map[string]string `env:"PLANE_STATES" doc:"ids of columns, as key:id,…, for when a project's cannot be read; never Confirm Deploy"`

	AnalystToken   secret.String `env:"PLANE_TOKEN_ANALYST" doc:"comments of the analyst; unset: the shared token"`
	ArchitectToken secret.String `env:"PLANE_TOKEN_ARCHITECT" doc:"comments of the architect"`
	DeveloperToken secret.String `env:"PLANE_TOKEN_DEVELOPER" doc:"comments of the developer"`
	ReviewerToken  secret.String `env:"PLANE_TOKEN_REVIEWER" doc:"comments of the reviewer"`
	TesterToken    secret.String `env:"PLANE_TOKEN_TESTER" doc:"comments of the tester"`
	DeployerToken  secret.String `env:"PLANE_TOKEN_DEPLOYER" doc:"comments of the deployer"`
	StreamToken    secret.String `env:"PLANE_TOKEN_STREAM" doc:"comments about stage changes"`

	GitHubURL       string        `env:"GITHUB_URL" doc:"address of the REST API; unset: GitHub's own"`
	GitHubToken     secret.String `env:"GITHUB_TOKEN" doc:"API token; not needed while no repository is on GitHub"`
	GitHubAppID     string        `env:"GITHUB_APP_ID" doc:"App ID or client ID of a GitHub App, which signs in in the place of a token"`
	GitHubAppKey    secret.String `env:"GITHUB_APP_KEY" doc:"its private key, the PEM file that GitHub gives for download"`
	GitHubApp       int64         `env:"GITHUB_INSTALLATION_ID" doc:"of the app; unset: that of each repository is looked up"`
	GitHubSecret    secret.String `env:"GITHUB_WEBHOOK_SECRET" doc:"of GitHub's webhooks, at least 16 bytes (openssl rand -hex 32); of projects that have none of their own"`
	GitHubSecretOld secret.String `env:"GITHUB_WEBHOOK_SECRET_OLD" doc:"is valid too, while the secret is replaced"`
	CloneBase       string        `env:"GITHUB_CLONE_BASE" envDefault:"https://github.com/" doc:"clone URLs that begin so are cloned with the API token"`

	GPSTracks     bool          `env:"GPS_TRACKS_ENABLED" envDefault:"true" doc:"public GPS tracks are served below /api/gps-tracks"`
	GPSSources    string        `env:"GPS_SOURCES" doc:"own gps_sources.yaml; unset: what is built in"`
	GPSRegions    string        `env:"GPS_REGIONS" doc:"own gps_regions.yaml, for the collector; unset: what is built in"`
	GPSLicences   string        `env:"GPS_LICENCES" doc:"own folder of licence records; unset: what is built in"`
	GPSContact    string        `env:"GPS_CONTACT" doc:"how sources can reach you; the collector sends it with every request"`
	GPSBaseURL    string        `env:"GPS_BASE_URL" doc:"address of this server as maps reach it, for tiles.json, style.json and ogc; unset: the host that was asked"`
	GPSOrigins    []string      `env:"GPS_CORS_ORIGINS" doc:"pages that may read tracks, as https://example.org,… or * for all"`
	GPSTileMaxAge time.Duration `env:"GPS_TILE_MAX_AGE" envDefault:"5m" doc:"how long a map may keep a tile"`
	GPSCacheTiles int           `env:"GPS_CACHE_TILES" envDefault:"1024" doc:"tiles that are kept in memory"`
	GPSMapBase    string        `env:"GPS_MAP_BASE" envDefault:"none" doc:"what /map/ draws tracks on: none, https://…/{z}/{x}/{y}.png, https://…/style.json or a file.pmtiles"`
	GPSMapImagery string        `env:"GPS_MAP_IMAGERY" doc:"imagery that people may choose, as https://…/{z}/{x}/{y}.jpg"`
	GPSMapCredit  string        `env:"GPS_MAP_ATTRIBUTION" doc:"whom the licences of these want named on the map, as HTML"`
	GPSRefresh    time.Duration `env:"GPS_REFRESH" envDefault:"5s" doc:"how often the server looks for tracks that a collector has brought"`

	InsecureWebhooks bool `env:"INSECURE_WEBHOOKS" envDefault:"false" doc:"take webhooks without a secret"`

	TelegramToken secret.String `env:"TELEGRAM_TOKEN" doc:"of the bot; unset: notices are only logged"`
	TelegramChat  string        `env:"TELEGRAM_CHAT_ID" doc:"of the chat"`
	TelegramURL   string        `env:"TELEGRAM_URL" doc:"address of the Bot API; unset: Telegram's own"`

	hidden *secret.Redactor // of all that is secret here, and of credentials in the environment
	level  *slog.LevelVar   // of the log; a reload changes it

	rehearses bool    // its card is on a board of its own, wherever the registry has them
	from      *values // not printed with them: secrets are in there
}

// graces are spans by stage.
type graces map[stage.Stage]time.Duration

// UnmarshalText reads stage:duration pairs.
func (g *graces) UnmarshalText(text []byte) error {
	*g = graces{}
	for pair := range strings.SplitSeq(string(text), ",") {
		name, span, _ := strings.Cut(strings.TrimSpace(pair), ":")
		d, err := time.ParseDuration(span)
		if !slices.Contains(stage.Stages(), stage.Stage(name)) || err != nil || d <= 0 {
			return fmt.Errorf("%q, want stage:duration such as development:10m", pair)
		}
		(*g)[stage.Stage(name)] = d
	}
	return nil
}

// Load reads the settings of an environment (as from os.Environ), secrets from the files that
// it names, and the settings file. An error names every setting that is wrong, with its line in the file.
func Load(environ []string) (Settings, error) {
	all, err := gather(environ)
	if err != nil {
		return Settings{}, errors.Join(err, unknown(environ))
	}
	have := all.set
	s, err := env.ParseAsWithOptions[Settings](env.Options{Environment: have, Prefix: Prefix})
	if err != nil {
		return s, errors.Join(wrongVariables(err, all), unknown(environ))
	}
	s.from, s.level = all, new(slog.LevelVar)
	s.level.Set(logLevels()[s.LogLevel])
	s.hidden = secret.NewRedactor(secret.Credentials(environ)...)
	for _, name := range secretNames() {
		s.hidden.Hide(have[name], secret.Password(have[name]))
	}
	for _, value := range s.otlpHeaders() {
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
	if s.MaxConcurrency < 1 {
		wrong("MAX_CONCURRENCY", "is %d, want at least 1", s.MaxConcurrency)
	}
	if s.MaxConcurrencyTotal < 0 || s.MaxConcurrencyTotal > 0 && !s.Shared() {
		wrong("MAX_CONCURRENCY_TOTAL", "is %d, want 0 or more, and ORCH_DATABASE_URL: it bounds servers that share a PostgreSQL", s.MaxConcurrencyTotal)
	}
	s.checkJail(wrong)
	s.checkEgress(wrong)
	s.checkAccess(wrong)
	s.checkGateway(wrong)
	s.checkEvents(wrong)
	if s.GPSCacheTiles < 1 {
		wrong("GPS_CACHE_TILES", "is %d, want at least 1", s.GPSCacheTiles)
	}
	if s.MonitorFailures < 1 {
		wrong("MONITOR_FAILURES", "is %d, want at least 1", s.MonitorFailures)
	}
	if s.MaxDeveloperRetries < 1 {
		wrong("MAX_DEVELOPER_RETRIES", "is %d, want at least 1", s.MaxDeveloperRetries)
	}
	for name, d := range map[string]time.Duration{
		"AGENT_TIMEOUT": s.AgentTimeout, "VERIFY_TIMEOUT": s.VerifyTimeout, "PROBE_WAIT": s.ProbeWait, "GATE_TIMEOUT": s.GateTimeout, "AGENT_TERM_GRACE": s.AgentTermGrace, "CI_POLL": s.CIPoll, "JOB_TTL": s.JobTTL, "POLL": s.Poll,
		"STATUS_DEFER": s.StatusDefer, "MERGE_DEFER_DELAY": s.MergeDeferDelay, "MERGE_LEASE_TTL": s.MergeLeaseTTL, "MERGE_LINE_MAX": s.MergeLineMax, "RECONCILE_INTERVAL": s.ReconcileInterval,
		"MONITOR_WINDOW": s.MonitorWindow, "MONITOR_INTERVAL": s.MonitorInterval, "GIT_TIMEOUT": s.GitTimeout, "CALL_TIMEOUT": s.CallTimeout,
		"GPS_TILE_MAX_AGE": s.GPSTileMaxAge, "GPS_REFRESH": s.GPSRefresh, "GIT_POLL": s.GitPoll,
	} {
		if d <= 0 {
			wrong(name, "is %s, want more than 0", d)
		}
	}
	for name, value := range map[string]string{"PLANE_URL": s.PlaneURL, "GITHUB_URL": s.GitHubURL, "TELEGRAM_URL": s.TelegramURL, "GPS_BASE_URL": s.GPSBaseURL, "PUBLIC_URL": s.PublicURL} {
		if u, err := url.Parse(value); value != "" && (err != nil || u.Host == "") {
			wrong(name, "is %q, want an address such as https://example.org", value)
		}
	}
	if d := s.KeepDeliveries; d > 0 && d < leastDeliveries {
		wrong("KEEP_DELIVERIES", "is %s, want at least 7d, or 0 for ever: what is forgotten and comes again is acted upon twice", d)
	}
	if s.MergeDeferMax < 1 || s.MergeDeferMax > mergegate.DeferLimit {
		wrong("MERGE_DEFER_MAX", "is %d, want 1 to %d", s.MergeDeferMax, mergegate.DeferLimit)
	}
	for _, origin := range s.GPSOrigins {
		if u, err := url.Parse(origin); origin != "*" && (err != nil || u.Host == "" || u.Path != "") {
			wrong("GPS_CORS_ORIGINS", "names %q, want origins such as https://example.org, or *", origin)
		}
	}
	for _, source := range s.TaskDepsSource {
		if source != deps.SourceDB && source != deps.SourceTracker {
			wrong("TASK_DEPS_SOURCE", "is %q, want db, tracker or db,tracker", strings.Join(s.TaskDepsSource, ","))
		}
	}
	for name, limit := range map[string]dollars{"BUDGET_TASK_USD": s.BudgetTask, "BUDGET_REPO_DAY_USD": s.BudgetRepoDay} {
		if limit > 0 && limit < s.BudgetRun {
			wrong(name, "is less than ORCH_BUDGET_RUN_USD, what one run is taken to cost: no agent would ever start; raise it, or lower the other")
		}
	}
	for name, value := range map[string]secret.String{
		"ADMIN_TOKEN": s.AdminToken, "PLANE_WEBHOOK_SECRET": s.PlaneSecret, "PLANE_WEBHOOK_SECRET_OLD": s.PlaneSecretOld,
		"GITHUB_WEBHOOK_SECRET": s.GitHubSecret, "GITHUB_WEBHOOK_SECRET_OLD": s.GitHubSecretOld,
	} {
		if err := long(value.Reveal()); value.IsSet() && err != nil {
			wrong(name, "%w", err)
		}
	}
	if s.BudgetRun == 0 {
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
		stage.Analyst: s.AnalystToken.Reveal(), stage.Architect: s.ArchitectToken.Reveal(), stage.Developer: s.DeveloperToken.Reveal(), stage.Reviewer: s.ReviewerToken.Reveal(),
		stage.Tester: s.TesterToken.Reveal(), stage.Deployer: s.DeployerToken.Reveal(), stage.Stream: s.StreamToken.Reveal(),
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
