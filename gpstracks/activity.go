package gpstracks

import (
	"slices"
	"strings"
	"unicode"
)

// Activity names the sport or the vehicle of a track.
type Activity string

// The activities. Unknown is a value like the others: a filter can select it.
const (
	Hiking  Activity = "hiking" // walking too
	Running Activity = "running"
	Cycling Activity = "cycling"
	Skiing  Activity = "skiing"
	Riding  Activity = "riding" // on horseback
	Boating Activity = "boating"
	Driving Activity = "driving"
	Unknown Activity = "unknown"
)

// Activities are all activities, in the order of documents.
func Activities() []Activity {
	return []Activity{Hiking, Running, Cycling, Skiing, Riding, Boating, Driving, Unknown}
}

// Valid reports one of Activities.
func (a Activity) Valid() bool { return slices.Contains(Activities(), a) }

// Evidence names the source of an activity.
type Evidence string

// The kinds of evidence, the strongest first.
const (
	FromType        Evidence = "type" // a field of the file that is for it
	FromKeywords    Evidence = "keywords"
	FromName        Evidence = "name"
	FromDescription Evidence = "description"
	FromFile        Evidence = "file"   // the name of the file
	FromFolder      Evidence = "folder" // the name of the folder, or of the archive
	FromSpeed       Evidence = "speed"
)

// Hint is a text that may name an activity.
type Hint struct {
	From Evidence
	Text string
}

// InferActivity infers the activity from texts: the first one that names a single activity
// decides. If none does, speeds in metres a second between points, in any order, may. It is
// Unknown, from nothing, rather than a guess.
func InferActivity(hints []Hint, speeds []float64) (Activity, Evidence) {
	table := activityWords()
	for _, h := range hints {
		if a := table.named(h.Text); a != Unknown {
			return a, h.From
		}
	}
	if a := fromSpeeds(speeds); a != Unknown {
		return a, FromSpeed
	}
	return Unknown, ""
}

// named is the activity that a text names, or Unknown if it names none or several. A weak
// word counts where there is no other.
func (t vocabulary) named(text string) Activity {
	said := map[bool][]Activity{} // by whether the word is weak
	for _, word := range words(text) {
		activities, weak := t.lookUp(word)
		for _, a := range activities {
			if !slices.Contains(said[weak], a) {
				said[weak] = append(said[weak], a)
			}
		}
	}
	if strong := said[false]; len(strong) > 0 {
		said[true] = strong
	}
	if len(said[true]) == 1 {
		return said[true][0]
	}
	return Unknown
}

// words are those of a text in lower case: runs of letters and digits, divided where a
// capital follows a small letter.
func words(text string) []string {
	var b strings.Builder
	small := false
	for _, r := range text[:min(len(text), 4096)] {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			r = ' '
		case small && unicode.IsUpper(r):
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// lookUp finds the activities of the longest known part of a word, as "motorbike" does of a word with
// "bike" in it.
func (t vocabulary) lookUp(word string) (found []Activity, weak bool) {
	longest := 0
	for _, entry := range t {
		for _, known := range entry.words {
			n := matches(known, word)
			if n == 0 || n < longest {
				continue
			}
			if n > longest {
				longest, found, weak = n, nil, entry.weak
			}
			if !slices.Contains(found, entry.activity) {
				found = append(found, entry.activity)
			}
		}
	}
	return found, weak
}

// matches is the length of the part of the word that a known word matches, or 0: a * at its
// end or beginning stands for any letters.
func matches(known, word string) int {
	stem, open := strings.CutSuffix(known, "*")
	inner, inside := strings.CutPrefix(stem, "*")
	switch {
	case inside && strings.Contains(word, inner), open && !inside && strings.HasPrefix(word, stem), stem == word:
		return len(inner)
	}
	return 0
}

// minSpeeds is the number of speeds below which percentiles say nothing.
const minSpeeds = 20

// computed is the ratio of fast to slow speeds below which they are no recording: planners
// write times for one speed.
const computed = 1.2

// fromSpeeds judges the middle and the fast end of the speeds. The bands leave
// gaps: a speed between a runner's and a cyclist's is Unknown.
func fromSpeeds(speeds []float64) Activity {
	moving := make([]float64, 0, len(speeds))
	for _, v := range speeds {
		if v >= 0.2 && v < 150 { // standing still, and jumps of the receiver (NaN too)
			moving = append(moving, v)
		}
	}
	if len(moving) < minSpeeds {
		return Unknown
	}
	slices.Sort(moving)
	slow, middle, fast := moving[len(moving)*5/100], moving[len(moving)/2], moving[len(moving)*95/100]
	switch {
	case fast < computed*slow:
		return Unknown
	case middle < 1.8 && fast < 3:
		return Hiking
	case middle >= 2 && middle < 4.2 && fast < 6:
		return Running
	case middle >= 4.5 && middle < 11 && fast >= 6 && fast < 20:
		return Cycling
	case middle >= 13 && fast >= 20:
		return Driving
	}
	return Unknown
}
