package stage

import "time"

// State is the machine's record of a task. It is a value: a decision returns
// a new one.
type State struct {
	Stage Stage `json:"stage"`
	Phase Phase `json:"phase,omitempty"` // of the stage deploy
	Seq   int64 `json:"seq"`             // counts decisions that were committed

	// Run numbers the task's agent jobs; Active is the role of the job with
	// that number while it is queued or running. A result with another number
	// is stale.
	Run    int64 `json:"run"`
	Active Role  `json:"active,omitempty"`

	// Failures counts the failed attempts of the active run.
	Failures int `json:"failures,omitempty"`

	// Retries counts how often the task was sent back or a role had to work
	// again, since the design was ready or a human last acted.
	Retries int `json:"retries,omitempty"`

	Hold       Hold   `json:"hold,omitempty"`
	HoldReason string `json:"hold_reason,omitempty"`
	// Outside means that a blocked task waits for what people have to put right outside of its
	// branch: no agent works again for it.
	Outside bool `json:"outside,omitempty"`

	// Refused is the last red verdict of the stage on what the task waits for, until
	// the stage's role works again: a person's Approved would be refused once more.
	Refused string `json:"refused,omitempty"`

	// Feedback tells the current role why it works again; the next job carries it.
	Feedback string `json:"feedback,omitempty"`

	Head     string `json:"head,omitempty"`    // tip of the task branch, as last taken
	Pushed   string `json:"pushed,omitempty"`  // tip of the remote branch, as last pushed
	Adopted  string `json:"adopted,omitempty"` // newest commit of others that was taken in since the run began
	MergeSHA string `json:"merge_sha,omitempty"`
	Landed   string `json:"landed,omitempty"` // the merge of a deployment that was rejected: it is over, another one comes
	PR       int64  `json:"pr,omitempty"`
	PRURL    string `json:"pr_url,omitempty"`

	CI    CI    `json:"ci,omitzero"`    // what the service has run itself, last
	Reran Reran `json:"reran,omitzero"` // what it has had the host run again

	// Vouched is the newest head that a person stands for: it changes protected paths, or
	// nothing at all.
	Vouched Vouch `json:"vouched,omitzero"`

	// Acted is the trigger status that was acted on last and Set the status that
	// was written last: what a status write may replace without overriding a human.
	// ActedAt is when the work item was changed last when that trigger was read, by the
	// tracker's clock.
	Acted   Status    `json:"acted,omitempty"`
	ActedAt time.Time `json:"acted_at,omitzero"`
	Set     Status    `json:"set,omitempty"`

	// Filed holds what the newest run of the stage's role has reported; a run begins
	// without.
	Filed Filed `json:"filed,omitzero"`
	// HeardAt is when the word Acted was acted on, by the service's clock, and AskedAfter
	// how long after that an approval was requested: an older word is not about what was
	// shown then.
	HeardAt    time.Time     `json:"heard_at,omitzero"`
	AskedAfter time.Duration `json:"asked_after,omitempty"`

	// Stopping means that a STOP waits for the irreversible step to finish.
	Stopping bool `json:"stopping,omitempty"`

	MergeGate

	SelfHosting bool `json:"self_hosting,omitempty"`
	CINone      bool `json:"ci_none,omitempty"`
	NoDeploy    bool `json:"no_deploy,omitempty"` // nothing is deployed: no deployer works, and a merge ends the task

	Lane    string `json:"lane,omitempty"`    // by which it began; empty = the whole pipeline
	Follows string `json:"follows,omitempty"` // work item id of the task of the same card that it comes after
	Starter string `json:"starter,omitempty"` // account of who has set To Analyse; empty when that is not known

	EnteredAt time.Time `json:"entered_at,omitzero"` // the stage
}

// MergeGate holds what the merge gate keeps of a task: whether it is on for the repository, whether the task
// has the merge lease, which commit of main its branch stands on, and which head was tested there; Retests counts how
// often that was not what would have landed. LinedUp is when it came to the line for the lease, and LeasedAt when its
// branch was first brought up to date under the lease. The machine carries it, and the rule of the gate alone writes it.
type MergeGate struct {
	Gated    bool      `json:"gated,omitempty"`
	Leased   bool      `json:"leased,omitempty"`
	LinedUp  time.Time `json:"lined_up,omitzero"`
	LeasedAt time.Time `json:"leased_at,omitzero"`
	Base     string    `json:"base,omitempty"`
	Tested   string    `json:"tested,omitempty"`
	Retests  int       `json:"retests,omitempty"`
}
