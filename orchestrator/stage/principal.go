package stage

import "encoding/json"

// Kind names the kind of being that has caused an event.
type Kind string

// Kinds of principals.
const (
	KindPerson   Kind = "person"   // at the tracker or the git host
	KindBot      Kind = "bot"      // a machine's account there
	KindOperator Kind = "operator" // of this service, by its API or dashboard
)

// Via is the way that an event came by.
type Via string

// Ways.
const (
	ViaWebhook    Via = "webhook"    // of the tracker
	ViaReconciler Via = "reconciler" // it was found on the board
	ViaHost       Via = "host"       // a webhook of the git host
	ViaAPI        Via = "api"
	ViaDashboard  Via = "dashboard"
	ViaBoard      Via = "board" // the service's own
	ViaChat       Via = "chat"
	ViaCommand    Via = "command" // of the program, on the server's machine
)

// Proof names what shows that it was the principal.
type Proof string

// Proofs.
const (
	ProofNone      Proof = "none"
	ProofSignature Proof = "signature" // of the webhook that names it
	ProofActivity  Proof = "activity"  // the tracker's own log names it
	ProofToken     Proof = "token"     // an operator's
	ProofProvider  Proof = "provider"  // an identity provider has signed the person in
	ProofProxy     Proof = "proxy"     // a trusted proxy has
	ProofHost      Proof = "host"      // the git host's answer names it
	ProofExit      Proof = "exit"      // of a command that the service has run
	ProofOutbox    Proof = "outbox"    // of the run that has left it there
	ProofAnswer    Proof = "answer"    // of the deployment itself
	ProofChat      Proof = "chat"      // the chat names the account, and the registry whose it is
)

// Principal names the cause of an event, and how that is known. The zero Principal is
// the service at its own work.
type Principal struct {
	Kind  Kind   `json:"kind,omitempty"` // empty for one of a journal that had only ids
	ID    string `json:"id,omitempty"`   // of the account, as the tracker or the host has it
	Name  string `json:"name,omitempty"`
	Via   Via    `json:"via,omitempty"`
	Proof Proof  `json:"proof,omitempty"`

	Subject string `json:"subject,omitempty"` // the provider's own identity of who has the name: issuer#sub
	From    string `json:"from,omitempty"`    // address of a request of the API or the dashboard
	Request string `json:"request,omitempty"` // its id, as the log has it
}

// UnmarshalJSON reads the older form as well: an id alone.
func (p *Principal) UnmarshalJSON(raw []byte) error {
	*p = Principal{}
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &p.ID)
	}
	type plain Principal
	return json.Unmarshal(raw, (*plain)(p))
}

// Who is the principal's name, or else its id; empty when neither is known.
func (p Principal) Who() string {
	if p.Name != "" {
		return p.Name
	}
	return p.ID
}

// Proved reports whether it is shown who it was.
func (p Principal) Proved() bool { return p.ID != "" && p.Proof != ProofNone && p.Proof != "" }

// String is the principal for people: "Kim (webhook, signature)".
func (p Principal) String() string {
	who := p.Who()
	if who == "" && p.Kind != "" {
		who = "a " + string(p.Kind)
	}
	if p.Via == "" {
		return who
	}
	if !p.Proved() {
		return who + " (" + string(p.Via) + ", not proved)"
	}
	return who + " (" + string(p.Via) + ", " + string(p.Proof) + ")"
}
