package stage

import (
	"encoding/json"
	"time"
)

// Beginnings of a Provenance.Issuer, with a name behind them.
const (
	IssuerApp    = "app/"    // an app, as the git host has it
	IssuerUser   = "user/"   // an account of the git host
	IssuerPerson = "person/" // issuer#subject where an identity provider has signed the person in, else the account
	IssuerRun    = "run/"    // of a role of the task, by its number
	IssuerSite   = "site/"   // a deployment, by its address
)

// IssuerService is the service itself: it has run a command.
const IssuerService = "service"

// Provenance says who vouches for a fact about a commit, and how that is known. Gates compare issuers: a name that the
// sender writes is no proof.
type Provenance struct {
	Issuer string    `json:"issuer,omitempty"` // such as app/github-actions; empty = not known
	Proof  Proof     `json:"proof,omitempty"`
	SHA    string    `json:"sha,omitempty"`   // the commit that the fact is about
	Judge  string    `json:"judge,omitempty"` // the commit whose files have judged it, where the service has had them run
	At     time.Time `json:"at,omitzero"`
}

// Vouch is a person's word for a commit. Older states have the commit alone.
type Vouch Provenance

// UnmarshalJSON reads the older form as well.
func (v *Vouch) UnmarshalJSON(raw []byte) error {
	if *v = (Vouch{}); len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &v.SHA)
	}
	return json.Unmarshal(raw, (*Provenance)(v))
}

// Vouch is the principal's word for a commit.
func (p Principal) Vouch(sha string, at time.Time) Vouch {
	v := Vouch{Proof: p.Proof, SHA: sha, At: at}
	switch {
	case p.Subject != "":
		v.Issuer = IssuerPerson + p.Subject
	case p.Via == ViaHost && p.ID != "":
		v.Issuer = IssuerUser + p.ID
	case p.Who() != "":
		v.Issuer = IssuerPerson + p.Who()
	}
	return v
}

// By names who vouches, for people: "by person/kim (signature)"; empty when nothing is known.
func (p Provenance) By() (s string) {
	if p.Issuer == "" && p.Judge == "" {
		return ""
	}
	s = "by " + p.Issuer
	if p.Issuer == "" {
		s = "by nobody known"
	}
	if p.Proof != "" {
		s += " (" + string(p.Proof) + ")"
	}
	if p.Judge != "" && p.Judge != p.SHA {
		s += ", by the files of " + short(p.Judge)
	}
	return s
}
