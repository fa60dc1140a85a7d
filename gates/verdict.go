package gates

import (
	"fmt"
	"io"
	"strings"
)

var outcomeWords = [...]string{Error: "error", Green: "green", Red: "red", Defer: "defer"}

// String is the outcome's word: error, green, red or defer.
func (o Outcome) String() string {
	if o < 0 || int(o) >= len(outcomeWords) {
		return outcomeWords[Error]
	}
	return outcomeWords[o]
}

// MarshalText writes the outcome's word.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads an outcome's word.
func (o *Outcome) UnmarshalText(text []byte) error {
	for i, word := range outcomeWords {
		if word == string(text) {
			*o = Outcome(i)
			return nil
		}
	}
	return fmt.Errorf("gates: outcome is %q, want green, red, defer or error", text)
}

// Greenf returns a green verdict: the reason is what was seen.
func Greenf(format string, args ...any) Verdict { return verdict(Green, format, args) }

// Redf returns a red verdict: the reason is what is wrong with the work.
func Redf(format string, args ...any) Verdict { return verdict(Red, format, args) }

// Deferf returns a verdict that defers: the reason is what is missing yet.
func Deferf(format string, args ...any) Verdict { return verdict(Defer, format, args) }

// Errorf returns an error verdict: the reason is why the check could not be made.
func Errorf(format string, args ...any) Verdict { return verdict(Error, format, args) }

func verdict(o Outcome, format string, args []any) Verdict {
	return Verdict{Outcome: o, Reason: fmt.Sprintf(format, args...)}
}

// Broken is the verdict of a check that does not work.
func Broken(check, reason string) Verdict {
	return Verdict{Check: check, Outcome: Error, Reason: reason}
}

// With adds what was looked at.
func (v Verdict) With(e ...Evidence) Verdict {
	v.Evidence = append(append([]Evidence(nil), v.Evidence...), e...)
	return v
}

// String is the verdict in one line.
func (v Verdict) String() string { return fmt.Sprintf("%s %s: %s", v.Check, v.Outcome, v.Reason) }

// String is the evidence in one line: what was seen, by whose word, of which commit.
func (e Evidence) String() string {
	out := e.Kind + " " + e.Name
	if e.Note != "" {
		out += ": " + e.Note
	}
	if by := e.By(); by != "" {
		out += ", " + by
	}
	if e.SHA != "" && e.SHA != e.Name {
		out += fmt.Sprintf(", at %.12s", e.SHA)
	}
	return out
}

// Print writes the verdict as an indented tree with its evidence.
func Print(w io.Writer, v Verdict) error { return printAt(w, v, 0) }

func printAt(w io.Writer, v Verdict, depth int) error {
	pad := strings.Repeat("  ", depth)
	if _, err := fmt.Fprintf(w, "%s%-5s %s: %s\n", pad, v.Outcome, v.Check, v.Reason); err != nil {
		return err
	}
	for _, e := range v.Evidence {
		mark := "+"
		if !e.OK {
			mark = "-"
		}
		if _, err := fmt.Fprintf(w, "%s      %s %s\n", pad, mark, e); err != nil {
			return err
		}
	}
	for _, c := range v.Children {
		if err := printAt(w, c, depth+1); err != nil {
			return err
		}
	}
	return nil
}
