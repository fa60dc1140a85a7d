package checks

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ciFile is where a CI system is configured in a repository, and the githost.Check.App by
// which it reports; empty = anything that is reported may be its.
type ciFile struct{ pattern, app string }

func ciFiles() []ciFile {
	return []ciFile{
		{".github/workflows/*.y*ml", githost.AppActions},
		{".gitea/workflows/*.y*ml", githost.AppActions},
		{".forgejo/workflows/*.y*ml", githost.AppActions},
		{".gitlab-ci.yml", ""}, {".circleci/config.yml", ""}, {".woodpecker.y*ml", ""}, {".woodpecker/*.y*ml", ""},
		{".drone.yml", ""}, {".travis.yml", ""},
		{"azure-pipelines.yml", ""}, {"Jenkinsfile", ""}, {"buildkite.yml", ""}, {".buildkite/*.y*ml", ""}, {".ci/*", ""},
	}
}

// FindCI returns the first of a repository's files that configures a CI; empty when none does.
func FindCI(files []string) string {
	for _, f := range ciFiles() {
		for _, name := range files {
			if found, _ := path.Match(f.pattern, name); found {
				return name
			}
		}
	}
	return ""
}

// ciGreen judges the CI results of the branch head.
func ciGreen(ctx context.Context, s gates.Facts) gates.Verdict {
	if s.Policy.CINone && s.Policy.Plain {
		return gates.Greenf("CI: none configured " +
			"(the repository has no git host, and its entry names no command in ci: nothing was tested)")
	}
	if s.Policy.CINone {
		return gates.Greenf("the repository declares that it has no CI (ci: none)")
	}
	if s.CI == nil || s.SHA == "" {
		return gates.Errorf("there is nothing to ask about CI: no commit, or no git host")
	}
	list, err := readChecks(ctx, s, s.SHA)
	if err == nil && s.Stage != stage.Development { // where the head itself is judged
		list, s.SHA, err = withSameCode(ctx, s, list)
	}
	if err != nil {
		return unreachable("the CI results", err)
	}
	if len(list) == 0 && len(s.Policy.Contexts) == 0 {
		return noCI(s)
	}
	v := judgeCI(s, list)
	if file := silentCI(s, list); v.Passed() && file != "" && !s.Settled {
		return gates.Deferf("CI has only begun at %.12s: nothing that %s configures was reported yet", s.SHA, file).
			With(v.Evidence...).With(gates.Evidence{Kind: "file", Name: file, Note: "configures CI", OK: true})
	}
	return v
}

// readChecks reads the CI results of a commit. Who has to report a check by the entry is who counts; else whom the host
// expects, by its rules and by what it has seen on main.
func readChecks(ctx context.Context, s gates.Facts, sha string) ([]githost.Check, error) {
	list, err := s.CI.Checks(ctx, s.Task.Repo, s.Task.Main, sha)
	for i, c := range list {
		if c.State == githost.CheckExpected {
			continue
		}
		if want := s.Policy.Issuers[c.Name]; want != "" {
			if list[i].Foreign = ""; c.Issuer != want {
				list[i].Foreign = "the project's entry takes it from " + want
			}
		}
		if list[i].SHA = cmp.Or(c.SHA, sha); list[i].SHA != sha {
			list[i].Foreign = fmt.Sprintf("it is about %.12s, not about %.12s", c.SHA, sha)
		}
		list[i].Proof = cmp.Or(c.Proof, stage.ProofHost)
	}
	return list, err
}

// sameCodeMax bounds for how many commits the CI results are read.
const sameCodeMax = 10

// withSameCode adds to the results of the head those of the newest commit with the head's code
// that CI has judged: a CI that skips commits of documents never reports all of them on the
// head. What was reported on the head itself stays.
func withSameCode(ctx context.Context, s gates.Facts, head []githost.Check) ([]githost.Check, string, error) {
	for _, sha := range s.SameCode[:min(len(s.SameCode), sameCodeMax)] {
		if isComplete(s, head) {
			break
		}
		if sha == s.SHA {
			continue
		}
		older, err := readChecks(ctx, s, sha)
		if err != nil {
			return nil, s.SHA, err
		}
		if !isComplete(s, older) {
			continue
		}
		reported, expected := split(head)
		for _, c := range older {
			if !has(reported, c.Name) {
				reported = append(reported, c)
			}
		}
		if len(head) == len(expected) {
			s.SHA = sha
		}
		for _, c := range expected {
			if !has(reported, c.Name) {
				reported = append(reported, c)
			}
		}
		return reported, s.SHA, nil
	}
	return head, s.SHA, nil
}

// isComplete reports whether CI has judged a commit: something was reported, by every CI that is
// configured, and nothing that the entry names is missing.
func isComplete(s gates.Facts, list []githost.Check) bool {
	reported, _ := split(list)
	lacks := slices.ContainsFunc(s.Policy.Contexts, func(name string) bool { return !has(reported, name) })
	return len(reported) > 0 && !lacks && silentCI(s, list) == ""
}

// split divides results into those that were reported and those that are expected.
func split(list []githost.Check) (reported, expected []githost.Check) {
	for _, c := range list {
		if c.State == githost.CheckExpected {
			expected = append(expected, c)
		} else {
			reported = append(reported, c)
		}
	}
	return reported, expected
}

// has reports whether a check was reported by who is to report it, or is expected.
func has(list []githost.Check, name string) bool {
	return slices.ContainsFunc(list, func(c githost.Check) bool { return c.Name == name && c.Foreign == "" })
}

// silentCI is the file of a CI that is configured and has reported nothing; empty when none
// is, or the entry names the checks that count. A status without an app is somebody else's.
func silentCI(s gates.Facts, list []githost.Check) string {
	if s.Tree == nil || len(s.Policy.Contexts) > 0 {
		return ""
	}
	for _, f := range ciFiles() {
		found, _ := fs.Glob(s.Tree, f.pattern)
		heard := slices.ContainsFunc(list, func(c githost.Check) bool {
			return c.State != githost.CheckExpected && (f.app == "" || c.App == f.app || c.App == "" && c.Kind != "status")
		})
		if len(found) > 0 && !heard {
			return found[0]
		}
	}
	return ""
}

// noCI distinguishes a CI that has not reported yet from none at all: by the files that
// CI systems are configured with.
func noCI(s gates.Facts) gates.Verdict {
	if s.Unpublished {
		return gates.Deferf("%.12s is not published yet", s.SHA)
	}
	if file := silentCI(s, nil); file != "" {
		why := fmt.Sprintf("CI has not reported anything for %.12s yet", s.SHA)
		if s.Settled {
			why += ": if what " + file + " configures does not run for this branch, " +
				"name the checks that do in the project's entry (ci: [names]), or say there that it has none (ci: none)"
		}
		return gates.Deferf("%s", why).With(gates.Evidence{Kind: "file", Name: file, Note: "configures CI", OK: true})
	}
	return forPeople("no CI is configured: add one, name its checks in the project's entry, or say there that it has none (ci: none)").
		With(gates.Evidence{Kind: "check", Name: "any", Note: fmt.Sprintf("nothing was reported for %.12s", s.SHA)})
}

// follow names what follows from a check; what is not known waits.
type follow int

const (
	waits     follow = iota // defer
	developer               // red: the code is to be mended
	person                  // red: people have to act outside of the branch
	stopped                 // as person, once nothing is under way any more
	nothing
	told  // nothing, and the reason names it
	again // defer: it is run again, once for a commit
)

// follows lists what follows from a check by its state: when it is required, first and after it was run again, and when it is optional.
var follows = map[githost.CheckState]struct{ first, required, optional follow }{
	githost.CheckPassed:    {nothing, nothing, nothing},
	githost.CheckFailed:    {developer, developer, told},
	githost.CheckTimedOut:  {again, developer, told},
	githost.CheckHeld:      {person, person, told},
	githost.CheckCancelled: {again, stopped, told},
	githost.CheckExpected:  {waits, waits, waits},
	githost.CheckPending:   {waits, waits, nothing},
}

// rerunSettles is how long a check that is run again may show its former result.
const rerunSettles = 3 * time.Minute

// judgeCI judges the results of CI. Where rules of the host name the checks that they demand, the
// others decide nothing.
func judgeCI(s gates.Facts, list []githost.Check) gates.Verdict {
	by := map[follow][]string{}
	var anew []githost.Check
	var evidence []gates.Evidence
	for _, c := range list {
		e := gates.Evidence{Kind: "check", Name: c.Name, OK: c.State == githost.CheckPassed && c.Foreign == "", Provenance: c.Provenance}
		e.Note = strings.TrimSuffix(string(c.State)+": "+c.Note, ": ")
		evidence = append(evidence, e)
		seen := string(c.State)
		if c.Issuer != "" && c.Issuer != stage.IssuerService {
			seen += " by " + c.Issuer
		}
		if c.Note != "" {
			seen += ": " + c.Note
		}
		what, text := follows[c.State].required, c.Name+" "+seen
		optional := c.Optional && !s.Policy.AllCI && !slices.Contains(s.Policy.Contexts, c.Name)
		if c.Foreign != "" { // a name is no proof
			text = fmt.Sprintf("%s is %s by the word of %s, and %s", c.Name, c.State, cmp.Or(c.Issuer, "nobody known"), c.Foreign)
		}
		switch ran := slices.Contains(s.Reran.Checks, c.Name); {
		case c.Foreign != "" && (optional || has(list, c.Name)):
			what = told
		case c.Foreign != "":
			what, text = person, text+": have it run there, or name its issuer in ci of the project's entry"
		case optional:
			what = follows[c.State].optional
		case follows[c.State].first == again && ran && s.At.Sub(s.Reran.At) < rerunSettles:
			what = waits
		case follows[c.State].first == again && !ran && c.ID != "":
			what, anew = again, append(anew, c)
		}
		switch {
		case c.State == githost.CheckExpected:
			text = c.Name + " (" + seen + ")"
		case what == waits:
			text = c.Name
		case what != developer && c.URL != "":
			text += " (" + c.URL + ")"
		}
		by[what] = append(by[what], text)
	}
	for _, name := range s.Policy.Contexts {
		if !has(list, name) {
			by[waits] = append(by[waits], name)
			evidence = append(evidence, gates.Evidence{Kind: "check", Name: name, Note: "required, not reported yet"})
		}
	}
	v := gates.Greenf("all %d checks passed at %.12s", len(list)-len(by[told]), s.SHA)
	switch {
	case len(by[developer]) > 0:
		v = gates.Redf("CI failed at %.12s: %s", s.SHA, strings.Join(by[developer], "; "))
	case len(by[person]) > 0:
		v = forPeople("CI of %.12s waits for a person at the git host: %s", s.SHA, strings.Join(append(by[person], by[stopped]...), "; "))
	case len(anew) > 0 && !slices.ContainsFunc(list, func(c githost.Check) bool { return c.State == githost.CheckPending }):
		v = gates.Deferf("CI of %.12s is run again: %s", s.SHA, strings.Join(append(by[again], by[waits]...), "; "))
		v.Again = anew
	case len(by[waits]) > 0:
		v = gates.Deferf("CI is not finished at %.12s: %s", s.SHA, strings.Join(by[waits], ", "))
	case len(by[stopped]) > 0:
		v = forPeople("CI of %.12s was stopped before its end, have it run again at the git host: %s",
			s.SHA, strings.Join(by[stopped], "; "))
	}
	if len(by[told]) > 0 {
		v.Reason += "; not required, and decides nothing: " + strings.Join(by[told], "; ")
	}
	return v.With(evidence...)
}

// forPeople is red by what people have to put right outside of the branch.
func forPeople(format string, args ...any) gates.Verdict {
	v := gates.Redf(format, args...)
	v.Person = true
	return v
}
