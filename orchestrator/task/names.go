package task

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// slugMax is the length of a branch slug, in characters.
const slugMax = 30

// Slug makes the readable part of a branch name of a title: folded to ASCII
// where there is a transliteration, lower case, every run of other characters
// one "-", at most 30 characters; "untitled" when nothing is left.
func Slug(title string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(title) {
		for _, c := range fold(r) {
			if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
				if gap && b.Len() > 0 {
					b.WriteByte('-')
				}
				gap = false
				b.WriteRune(c)
			} else {
				gap = true
			}
		}
		if b.Len() > slugMax {
			break
		}
	}
	s := b.String()
	s = strings.Trim(s[:min(len(s), slugMax)], "-")
	return cmp.Or(s, "untitled")
}

// fold transliterates a lower-case letter to ASCII. Combining marks vanish,
// letters without a transliteration become a gap.
func fold(r rune) string {
	switch {
	case r < unicode.MaxASCII:
		return string(r)
	case unicode.Is(unicode.Mn, r) || r == 'ь' || r == 'ъ':
		return ""
	}
	for _, row := range foldRows {
		if i := strings.IndexRune(row.from, r); i >= 0 {
			return strings.Fields(row.to)[len([]rune(row.from[:i]))]
		}
	}
	return " "
}

var foldRows = []struct{ from, to string }{
	{"абвгдеёжзийклмнопрстуфхцчшщыэюя", "a b v g d e yo zh z i y k l m n o p r s t u f kh ts ch sh shch y e yu ya"},
	{"іїєґўђјљњћџѓѕќ", "i yi ye g u dj j lj nj c dz gj dz kj"},
	{"αβγδεζηθικλμνξοπρσςτυφχψω", "a v g d e z i th i k l m n x o p r s s t y f ch ps o"},
	{"άέήίόύώϊϋΐΰ", "a e i i o y o i y i y"},
	{"àáâãåāăąçćĉċčďđð", "a a a a a a a a c c c c c d d d"},
	{"èéêëēĕėęěĝğġģĥħìíîïĩīĭįıĵķĺļľŀł", "e e e e e e e e e g g g g h h i i i i i i i i i j k l l l l l"},
	{"ñńņňòóôõøōŏőŕŗřśŝşšţťŧùúûũūŭůűųŵýÿŷźżžșț", "n n n n o o o o o o o o r r r s s s s t t t u u u u u u u u u w y y y z z z s t"},
	{"äöüßæœþŋ", "ae oe ue ss ae oe th n"},
}

// keyForm is a name that is safe as a part of a branch's and of a file's.
var keyForm = regexp.MustCompile(`^[A-Za-z0-9]+([_-][A-Za-z0-9]+)*$`)

// IsKey reports whether the tracker's own name of an item can be a work item's id.
func IsKey(key string) bool { return len(key) <= 40 && keyForm.MatchString(key) }

// WorkItemID derives a work item's id from the tracker's number, and the next
// free one when that is taken in the repo. A number below 1 counts as 1.
func WorkItemID(prefix string, sequence int64, taken func(string) bool) string {
	for n := max(sequence, 1); ; n++ {
		if id := prefix + "-" + strconv.FormatInt(n, 10); !taken(id) {
			return id
		}
	}
}

// FollowUpID derives the work item id of a further task of a card from that of the one before, which has a prefix:
// GPX-7-2 and GPX-7-3 come after GPX-7.
func FollowUpID(prefix, before string, taken func(string) bool) string {
	if rest, ok := strings.CutPrefix(before, prefix+"-"); ok {
		n, _, _ := strings.Cut(rest, "-")
		before = prefix + "-" + n
	}
	return further(before, taken)
}

// UndoID derives the work item id of the task that takes back what another has landed: GPX-7-undo, then GPX-7-undo-2.
func UndoID(of string, taken func(string) bool) string {
	if id := of + "-undo"; !taken(id) {
		return id
	}
	return further(of+"-undo", taken)
}

func further(name string, taken func(string) bool) string {
	for n := 2; ; n++ {
		if id := fmt.Sprintf("%s-%d", name, n); !taken(id) {
			return id
		}
	}
}

// BranchName names a task's branch. When another task of the repo owns it, the
// tracker's issue id makes it unique; the work item id is unique already.
func BranchName(workItemID, slug, issueID string, taken func(string) bool) string {
	name := branches + workItemID + "-" + slug
	if !taken(name) {
		return name
	}
	unique := name + "-" + Slug(workItemID+" "+issueID)
	for n := 2; taken(unique); n++ {
		unique = fmt.Sprintf("%s-%s-%d", name, Slug(issueID), n)
	}
	return unique
}

// branches begins the names of tasks' branches.
const branches = "feature/"

// IsBranch reports whether a branch may be a task's, by its name.
func IsBranch(name string) bool { return strings.HasPrefix(name, branches) }

const tombstoneMark = "#cancelled-"

// Tombstone returns the form of a natural key of a cancelled task.
func Tombstone(key string, taskID int64, at time.Time) string {
	return fmt.Sprintf("%s%s%d-%d", key, tombstoneMark, taskID, at.Unix())
}

// TombstoneRange returns the bounds of what a key can have become, byte by byte: from the first on,
// before the second.
func TombstoneRange(key string) (from, before string) {
	last := len(tombstoneMark) - 1
	return key + tombstoneMark, key + tombstoneMark[:last] + string(tombstoneMark[last]+1)
}

// ParseTombstone returns the original of a tombstone; ok is false for a key that is none.
func ParseTombstone(key string) (original string, ok bool) {
	i := strings.LastIndex(key, tombstoneMark)
	if i < 0 {
		return key, false
	}
	id, at, found := strings.Cut(key[i+len(tombstoneMark):], "-")
	if !found || !number(id) || !number(strings.TrimPrefix(at, "-")) {
		return key, false
	}
	return key[:i], true
}

// OriginalKey is a key without the mark of a tombstone, if it has one.
func OriginalKey(key string) string {
	original, _ := ParseTombstone(key)
	return original
}

func number(s string) bool {
	_, err := strconv.ParseUint(s, 10, 64)
	return err == nil
}
