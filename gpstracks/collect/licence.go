package collect

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Licence is a decision record: whether tracks of a source may be collected and
// shown, and under which licence.
type Licence struct {
	Record      string // name of the file
	Source      string
	Status      string // proposed, accepted or rejected
	Licence     string
	Attribution string // the name that the licence requires
	DecidedOn   string // day
	URL         string // of the licence
	Download    bool   // tracks may be handed out as files
	Err         error  // the record cannot be read
}

// accepted is the one status that lets a source run.
const accepted = "accepted"

// Licences are all decision records.
type Licences []Licence

// RefusedError reports why a source may not run.
type RefusedError struct{ Source, Record, Reason string }

// Error names the source and the record.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("source %s is not run: its licence record %s %s", e.Source, e.Record, e.Reason)
}

// Refused reports true.
func (e *RefusedError) Refused() bool { return true }

// OffError reports that a source or a region is switched off.
type OffError struct{ What, Name string }

// Error names it, and what to do.
func (e *OffError) Error() string {
	return fmt.Sprintf("%s %s is switched off: set its enabled to true", e.What, e.Name)
}

// Refused reports true.
func (e *OffError) Refused() bool { return true }

// Allow returns the accepted record of a source, or a *RefusedError: no record,
// one that cannot be read, two of them or any status but accepted do not let a
// source run.
func (l Licences) Allow(source string) (Licence, error) {
	refuse := func(record, reason string) (Licence, error) {
		return Licence{}, &RefusedError{source, record, reason}
	}
	own := source + ".md"
	var found *Licence
	for i := range l {
		switch r := &l[i]; {
		case r.Err != nil && (r.Record == own || r.Source == source):
			return refuse(r.Record, "cannot be read: "+r.Err.Error())
		case r.Err != nil || r.Source != source:
		case found != nil:
			return refuse(r.Record, "is the second one for it: keep one of them")
		default:
			found = r
		}
	}
	switch {
	case found == nil:
		return refuse(own, "does not exist: write one, and set its status to accepted when the licence allows it")
	case found.Status != accepted:
		return refuse(found.Record, fmt.Sprintf("has the status %q, not accepted", found.Status))
	}
	return *found, nil
}

// Status is the decision for a source, as shown to people: the status of its
// record, or missing or unreadable.
func (l Licences) Status(source string) string {
	if _, err := l.Allow(source); err == nil {
		return accepted
	}
	for _, r := range l {
		switch {
		case r.Err != nil && (r.Source == source || r.Record == source+".md"):
			return "unreadable"
		case r.Err == nil && r.Source == source && r.Status != accepted:
			return r.Status
		}
	}
	return "missing"
}

// upsert gives tracks to the store, which would take them for known where it has the same of a source that is not accepted any
// more, and is in no answer: such a one gives way.
func (j *job) upsert(ctx context.Context, tracks []gpstracks.Track) (u gpstracks.Upserted, err error) {
	brought, _, err := j.screen(ctx, tracks)
	if err != nil {
		return u, err
	}
	stored, err := j.o.Store.Known(ctx, brought...)
	if err != nil {
		return u, err
	}
	var index gpstracks.Index
	for i := range brought {
		index.Add(&brought[i])
	}
	var gone []int64
	for i := range stored {
		if j.o.Licences.Status(stored[i].Source) != accepted && index.Find(&stored[i]) >= 0 {
			gone = append(gone, stored[i].ID)
		}
	}
	changed, err := j.o.Store.Remove(ctx, gone...)
	if err != nil {
		return u, err
	}
	u, err = j.o.Store.Upsert(ctx, tracks)
	u.Changed = append(changed, u.Changed...)
	return u, err
}
