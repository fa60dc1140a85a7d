package work

import "time"

// Trouble is a failure that every run of the same agent would meet. The zero value is none.
type Trouble struct {
	Kind  TroubleKind `json:"kind"`
	Until time.Time   `json:"until,omitzero"` // when it ends by itself, where the tool says so
}

// TroubleKind says what is wrong with an agent, whatever its task.
type TroubleKind string

// Kinds of trouble.
const (
	TroubleLogin    TroubleKind = "login"    // nobody is signed in, or the key is refused
	TroubleCredit   TroubleKind = "credit"   // the account is empty
	TroubleLimit    TroubleKind = "limit"    // a limit of use or of requests is reached
	TroubleModel    TroubleKind = "model"    // the vendor has no such model
	TroubleMissing  TroubleKind = "missing"  // the tool is not installed
	TroubleOutdated TroubleKind = "outdated" // the tool is too old, or does not take what it is called with
	TroublePerson   TroubleKind = "person"   // the tool waits for a person: trust, terms, a permission
	TroubleRoom     TroubleKind = "room"     // the disk that it works on is full, or cannot be written to
)

// What is the trouble in words, of an agent that is named before them.
func (k TroubleKind) What() string {
	switch k {
	case TroubleLogin:
		return "nobody is signed in, or its key is refused"
	case TroubleCredit:
		return "its account is empty"
	case TroubleLimit:
		return "its usage limit is reached"
	case TroubleModel:
		return "its vendor has no such model"
	case TroubleMissing:
		return "its program is not installed"
	case TroubleOutdated:
		return "it is too old, or does not take what it is called with"
	case TroublePerson:
		return "it waits for a person"
	case TroubleRoom:
		return "the disk that it works on is full, or cannot be written to"
	}
	return "it cannot work"
}
