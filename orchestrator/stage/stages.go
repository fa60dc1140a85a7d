package stage

import (
	"fmt"
	"regexp"
	"slices"
)

// Agents are given files and words separated by spaces.
var (
	nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)
	fileForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,60}\.md$`)
	wordForm = regexp.MustCompile(`^[a-z][a-z_]{0,30}$`)
)

// CheckStages returns the first of the working stages of a pipeline that cannot be one, and why. They
// begin with analysis, if there is one; before development stand stages that write documents, behind it
// those that judge, and deploy is the last.
func CheckStages(stages []Info) (at int, err error) {
	built := -1
	for at, i := range stages {
		files, words := slices.Concat(i.Artefacts, i.Prepared), slices.Concat(i.Good, i.Bad)
		if i.Report != "" {
			files = append(files, i.Report)
		}
		file := slices.IndexFunc(files, func(name string) bool { return !fileForm.MatchString(name) })
		word := slices.IndexFunc(words, func(word string) bool { return !wordForm.MatchString(word) })
		status, known := StatusNamed(i.Status)
		switch {
		case !nameForm.MatchString(string(i.Stage)) || i.Stage.Terminal():
			return at, fmt.Errorf("stage is %q, want small letters, digits and dashes, and neither done nor cancelled", i.Stage)
		case slices.ContainsFunc(stages[:at], func(o Info) bool { return o.Stage == i.Stage }):
			return at, fmt.Errorf("stage %s is there twice", i.Stage)
		case !nameForm.MatchString(string(i.Role)) || i.Role == Stream:
			return at, fmt.Errorf("stage %s: role is %q, want the name of who works there, such as reviewer", i.Stage, i.Role)
		case !known || status.Trigger && i.Status != StatusInProgress:
			return at, fmt.Errorf("stage %s: status is %q, want a column that shows work, such as code_review", i.Stage, i.Status)
		case len(i.Gates) == 0:
			return at, fmt.Errorf("stage %s: gates is empty: nothing would let a task leave it", i.Stage)
		case i.Prompt == "" && !slices.Contains(Roles(), i.Role):
			return at, fmt.Errorf("stage %s: prompt is missing: the role %s has no built-in assignment", i.Stage, i.Role)
		case file >= 0:
			return at, fmt.Errorf("stage %s: %q is no name of a document, want one such as security.md", i.Stage, files[file])
		case word >= 0:
			return at, fmt.Errorf("stage %s: %q is no verdict, want small letters and _, such as changes_requested", i.Stage, words[word])
		case i.Report != "" && (len(i.Good) == 0 || len(i.Bad) == 0):
			return at, fmt.Errorf("stage %s: good or bad is empty: the report %s could say nothing", i.Stage, i.Report)
		case i.Stage == Analysis && at > 0:
			return at, fmt.Errorf("stage analysis is the first, or is left out")
		case i.Stage == Development:
			built = at
		case i.Stage == Deploy && (built < 0 || at < len(stages)-1):
			return at, fmt.Errorf("stage deploy is the last, behind development")
		case i.Stage == Analysis || i.Stage == Deploy:
		case built < 0 && (i.Report != "" || len(i.Artefacts) == 0):
			return at, fmt.Errorf("stage %s: what comes before development writes documents: name artefacts, and no report", i.Stage)
		case built >= 0 && i.Report == "":
			return at, fmt.Errorf("stage %s: what comes behind development judges: name its report", i.Stage)
		}
	}
	if built < 0 || stages[len(stages)-1].Stage != Deploy {
		return len(stages) - 1, fmt.Errorf("development and deploy are missing: every pipeline has both")
	}
	return 0, nil
}
