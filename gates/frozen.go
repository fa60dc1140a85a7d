package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// errNotKept is the error of a frozen reader about what nobody has read when it was frozen.
var errNotKept = errors.New("gates: it was not read when the subject was frozen")

// Frozen holds what the readers of a subject have answered, for JSON: the subject can be judged again, by other gates
// and under another policy, as far as they read no more. What state, event and registry say of it is not in it.
type Frozen struct {
	Title       string        `json:"title,omitempty"` // of a card whose task begins
	Description string        `json:"description,omitempty"`
	SHA         string        `json:"sha,omitempty"`
	SameCode    []string      `json:"same_code,omitempty"` // beside SHA
	Base        string        `json:"base,omitempty"`
	Unpublished bool          `json:"unpublished,omitempty"`
	Settled     bool          `json:"settled,omitempty"`
	Probed      *stage.Probed `json:"probed,omitempty"`

	Files map[string]string   `json:"files,omitempty"` // that were read, up to fileKept bytes
	Sizes map[string]int64    `json:"sizes,omitempty"` // of others that are known, of the task's directory all; -1 = not there
	Globs map[string][]string `json:"globs,omitempty"`

	Checks   map[string][]githost.Check `json:"checks,omitempty"` // by commit
	Reviews  *[]githost.Review          `json:"reviews,omitempty"`
	Changed  map[string][]string        `json:"changed,omitempty"` // all paths since a commit
	Diff     string                     `json:"diff,omitempty"`    // the hash of what Recording.Diff returns
	Commands map[string]CommandResult   `json:"commands,omitempty"`
}

// CommandResult is how the command of a check has ended.
type CommandResult struct {
	Exit   int    `json:"exit"`
	Stderr string `json:"stderr,omitempty"`
}

// Bounds of what is kept of a subject.
const (
	fileKept    = 1 << 10 // bytes of a file
	changedKept = 500     // paths
)

// Recording notes what the readers of a subject answer.
type Recording struct {
	read   Frozen
	facts  Facts // as they were given
	diff   []byte
	listed bool
}

// Record returns a subject whose readers note in the recording what they answer. A recording is for one goroutine.
func Record(s Facts) (Facts, *Recording) {
	r := &Recording{facts: s, read: Frozen{
		SHA: s.SHA, Base: s.Base, Unpublished: s.Unpublished, Settled: s.Settled, Probed: s.Filed.Probed,
		Files: map[string]string{}, Sizes: map[string]int64{}, Globs: map[string][]string{},
		Checks: map[string][]githost.Check{}, Changed: map[string][]string{}, Commands: map[string]CommandResult{},
	}}
	for _, sha := range s.SameCode {
		if sha != s.SHA {
			r.read.SameCode = append(r.read.SameCode, sha)
		}
	}
	if s.Stage == stage.None {
		r.read.Title, r.read.Description = s.Task.Title, s.Task.Description
	}
	if s.Tree != nil {
		s.Tree = recordedTree{s.Tree, r}
	}
	if s.CI != nil {
		s.CI = recordedCI{s.CI, r}
	}
	if s.Reviews != nil {
		s.Reviews = recordedReviews{s.Reviews, r}
	}
	if s.Changes != nil {
		s.Changes = recordedChanges{s.Changes, r}
	}
	return s, r
}

// Freeze returns what was read, with the names in the task's directory and what the branch changes: what other
// policies would read first. A reader that fails keeps nothing.
func (r *Recording) Freeze(ctx context.Context) Frozen {
	if r.facts.Tree != nil && r.facts.Task.Docs != "" && !r.listed {
		r.listed = true
		list, err := fs.ReadDir(r.facts.Tree, r.facts.Task.Docs)
		for _, f := range list {
			name := r.facts.Task.Docs + "/" + f.Name()
			if info, err := f.Info(); err == nil && !f.IsDir() && r.read.Files[name] == "" {
				r.read.Sizes[name] = info.Size()
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			r.read.Sizes[r.facts.Task.Docs] = int64(len(list))
		}
	}
	if r.facts.Changes != nil && r.facts.SHA != "" {
		_, _ = recordedChanges{r.facts.Changes, r}.Changed(ctx, "", nil)
	}
	return r.read
}

// Diff returns the changes of the branch, as JSON; nil = nobody has read them.
func (r *Recording) Diff() []byte { return r.diff }

type recordedTree struct {
	fs.FS
	r *Recording
}

func (t recordedTree) ReadFile(name string) ([]byte, error) {
	body, err := fs.ReadFile(t.FS, name)
	t.note(name, int64(len(body)), err)
	if err == nil && len(body) <= fileKept {
		t.r.read.Files[name] = string(body)
		delete(t.r.read.Sizes, name)
	}
	return body, err
}

func (t recordedTree) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(t.FS, name)
	if err != nil || !info.IsDir() {
		size := int64(0)
		if err == nil {
			size = info.Size()
		}
		t.note(name, size, err)
	}
	return info, err
}

func (t recordedTree) note(name string, size int64, err error) {
	if _, read := t.r.read.Files[name]; err == nil && !read {
		t.r.read.Sizes[name] = size
	} else if errors.Is(err, fs.ErrNotExist) && path.Dir(name) != t.r.facts.Task.Docs {
		t.r.read.Sizes[name] = -1
	}
}

func (t recordedTree) Glob(pattern string) ([]string, error) {
	list, err := fs.Glob(t.FS, pattern)
	if err == nil {
		t.r.read.Globs[pattern] = list
	}
	return list, err
}

type recordedCI struct {
	CI
	r *Recording
}

func (c recordedCI) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	list, err := c.CI.Checks(ctx, repo, base, sha)
	if err == nil {
		c.r.read.Checks[sha] = slices.Clone(list) // gates complete what they are given
	}
	return list, err
}

type recordedReviews struct {
	from Reviews
	r    *Recording
}

func (v recordedReviews) Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error) {
	list, err := v.from.Reviews(ctx, repo, branch, base)
	if err == nil {
		kept := append([]githost.Review{}, list...)
		v.r.read.Reviews = &kept
	}
	return list, err
}

type recordedChanges struct {
	Changes
	r *Recording
}

// Changed reads all paths once, since another policy may match others.
func (c recordedChanges) Changed(ctx context.Context, from string, patterns []string) (list []string, err error) {
	all, known := c.r.read.Changed[from]
	if !known {
		if all, err = c.Changes.Changed(ctx, from, []string{"**"}); err != nil {
			return nil, err
		}
		if len(all) > changedKept {
			return c.Changes.Changed(ctx, from, patterns)
		}
		c.r.read.Changed[from] = append([]string{}, all...)
	}
	return matching(all, patterns), nil
}

func matching(all, patterns []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return !stage.MatchPath(patterns, name) })
}

// diffRead is the JSON of a Recording.Diff.
type diffRead struct {
	Files []FileDiff `json:"files,omitempty"`
	Cut   bool       `json:"cut,omitempty"`
}

func (c recordedChanges) Diff(ctx context.Context) (files []FileDiff, cut bool, err error) {
	files, cut, err = c.Changes.Diff(ctx)
	if err == nil {
		c.r.diff, err = json.Marshal(diffRead{files, cut})
	}
	return files, cut, err
}

// Noted has a recording note how the commands of checks end that c runs.
func (r *Recording) Noted(c Commands) Commands { return recordedCommands{c, r} }

type recordedCommands struct {
	Commands
	r *Recording
}

func (c recordedCommands) RunCheck(ctx context.Context, argv []string, s Facts) (exit int, stderr string, err error) {
	exit, stderr, err = c.Commands.RunCheck(ctx, argv, s)
	if err == nil {
		c.r.read.Commands[strings.Join(argv, " ")] = CommandResult{exit, stderr}
	}
	return exit, stderr, err
}

// Thaw gives a subject the frozen readers, with the diff that f names; nil = it is not there. missed lists what was
// read since and is not kept: a verdict that has read it says nothing.
func (f Frozen) Thaw(s Facts, diff []byte) (out Facts, missed func() []string) {
	t := &thawed{Frozen: f, diff: diff, docs: s.Task.Docs}
	s.SHA, s.Base, s.Unpublished, s.Settled = f.SHA, f.Base, f.Unpublished, f.Settled
	if s.Filed.Probed = f.Probed; f.SHA != "" {
		s.SameCode = append([]string{f.SHA}, f.SameCode...)
	}
	if s.Stage == stage.None {
		s.Task.Title, s.Task.Description = f.Title, f.Description
	}
	if s.Commands = t; f.SHA != "" || len(f.Files)+len(f.Sizes)+len(f.Checks)+len(f.Changed) > 0 || f.Reviews != nil {
		s.Tree, s.CI, s.Reviews, s.Changes = t, t, thawedReviews{t}, t
	}
	return s, func() []string { return t.missed }
}

// thawed answers as the readers of a subject have.
type thawed struct {
	Frozen
	diff   []byte
	docs   string
	missed []string
}

func (t *thawed) miss(what string) error {
	if !slices.Contains(t.missed, what) {
		t.missed = append(t.missed, what)
	}
	return fmt.Errorf("%s: %w", what, errNotKept)
}

// Open implements fs.FS: of a file that is longer than what is kept the size is known.
func (t *thawed) Open(name string) (fs.File, error) {
	body, read := t.Files[name]
	size, known := t.Sizes[name]
	_, listed := t.Sizes[t.docs]
	switch {
	case read:
		return thawedFile{name, int64(len(body)), strings.NewReader(body), t}, nil
	case known && size == 0 && name != t.docs:
		return thawedFile{name, 0, strings.NewReader(""), t}, nil
	case known && size > 0 && name != t.docs:
		return thawedFile{name, size, nil, t}, nil
	case known && size < 0, listed && path.Dir(name) == t.docs:
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	default:
		return nil, t.miss("file " + name)
	}
}

// IsBlank reports whether a file has nothing but white space. One of a thawed subject of which the size alone is kept
// has something.
func IsBlank(tree fs.FS, name string) (bool, error) {
	if t, ok := tree.(*thawed); ok {
		if _, read := t.Files[name]; !read && t.Sizes[name] > 0 && name != t.docs {
			return false, nil
		}
	}
	body, err := fs.ReadFile(tree, name)
	return strings.TrimSpace(string(body)) == "", err
}

// Glob implements fs.GlobFS.
func (t *thawed) Glob(pattern string) ([]string, error) {
	list, known := t.Globs[pattern]
	if !known {
		return nil, t.miss("files " + pattern)
	}
	return list, nil
}

// thawedFile is a file, of which no more than the size may be kept; it is its own fs.FileInfo.
type thawedFile struct {
	name string
	size int64
	body io.Reader // nil = it is not kept
	t    *thawed
}

func (f thawedFile) Read(into []byte) (int, error) {
	if f.body == nil {
		return 0, f.t.miss("file " + f.name)
	}
	return f.body.Read(into)
}

func (f thawedFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f thawedFile) Close() error               { return nil }
func (f thawedFile) Name() string               { return path.Base(f.name) }
func (f thawedFile) Size() int64                { return f.size }
func (f thawedFile) Mode() fs.FileMode          { return 0o444 }
func (f thawedFile) ModTime() (t time.Time)     { return t }
func (f thawedFile) IsDir() bool                { return false }
func (f thawedFile) Sys() any                   { return nil }

// Checks implements CI.
func (t *thawed) Checks(_ context.Context, _, _, sha string) ([]githost.Check, error) {
	list, known := t.Frozen.Checks[sha]
	if !known {
		return nil, t.miss("CI of " + sha)
	}
	return slices.Clone(list), nil
}

// Changed implements Changes.
func (t *thawed) Changed(_ context.Context, from string, patterns []string) ([]string, error) {
	all, known := t.Frozen.Changed[from]
	if !known {
		return nil, t.miss("what has changed since " + from)
	}
	return matching(all, patterns), nil
}

// Diff implements Changes.
func (t *thawed) Diff(context.Context) ([]FileDiff, bool, error) {
	var d diffRead
	if t.diff == nil {
		return nil, false, t.miss("the diff of " + t.SHA)
	}
	err := json.Unmarshal(t.diff, &d)
	return d.Files, d.Cut, err
}

// RunCheck implements Commands.
func (t *thawed) RunCheck(_ context.Context, argv []string, _ Facts) (int, string, error) {
	line := strings.Join(argv, " ")
	ran, known := t.Frozen.Commands[line]
	if !known {
		return 0, "", t.miss("the command " + line)
	}
	return ran.Exit, ran.Stderr, nil
}

type thawedReviews struct{ *thawed }

// Reviews implements Reviews.
func (t thawedReviews) Reviews(context.Context, string, string, string) ([]githost.Review, error) {
	if t.Frozen.Reviews == nil {
		return nil, t.miss("the reviews of " + t.SHA)
	}
	return *t.Frozen.Reviews, nil
}
