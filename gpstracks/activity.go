package gpstracks

import (
	"slices"
	"strings"
	"unicode"
)

// Activity is what somebody did while the track was recorded.
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

// activityWords are the words, and with a * the beginnings of words, by which
// people name an activity, in the languages of the regions.
func activityWords() map[Activity][]string {
	return map[Activity][]string{
		Skiing:  {"ski", "skis", "skiing", "skitour*", "skitouring", "snowboard*", "langlauf", "freeride", "лыж*"},
		Cycling: {"bike*", "biking", "bicycl*", "cycling", "cycle", "mtb", "ebike", "gravel", "velo*", "vélo*", "radtour", "radfahren", "rad", "fahrrad*", "mountainbike*", "ciclis*", "bici*", "вело*"},
		Running: {"run", "runs", "running", "jog*", "trailrun*", "lauf", "laufen", "marathon*", "halbmarathon", "corsa", "course", "пробеж*", "бег"},
		Hiking:  {"hike*", "hiking", "walk*", "trek*", "wander*", "bergtour*", "randonn*", "escursion*", "senderis*", "climb*", "поход*", "пеш*"},
		Riding:  {"horse*", "equestrian", "reiten", "ausritt", "cheval", "caballo"},
		Boating: {"boat*", "sail*", "kayak*", "kajak*", "canoe*", "rowing", "paddl*", "segel*", "ferry"},
		Driving: {"car", "drive", "driving", "motorbike*", "motorcycl*", "motorrad*", "auto", "bus", "jeep*", "4x4", "offroad"},
	}
}

// InferActivity infers the activity from words first (a name, tags, a
// description) and, if they name none or more than one, from speeds in metres a
// second between points, in any order. It is Unknown rather than a guess.
func InferActivity(words []string, speeds []float64) Activity {
	if a := fromWords(words); a != Unknown {
		return a
	}
	return fromSpeeds(speeds)
}

func fromWords(texts []string) Activity {
	var said []Activity
	table := activityWords()
	for _, text := range texts {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			for _, a := range Activities() {
				if !slices.Contains(said, a) && slices.ContainsFunc(table[a], func(known string) bool { return means(known, word) }) {
					said = append(said, a)
				}
			}
		}
	}
	if len(said) == 1 {
		return said[0]
	}
	return Unknown
}

func means(known, word string) bool {
	if stem, ok := strings.CutSuffix(known, "*"); ok {
		return strings.HasPrefix(word, stem)
	}
	return word == known
}

// minSpeeds is the number of speeds below which percentiles say nothing.
const minSpeeds = 20

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
	middle, fast := moving[len(moving)/2], moving[len(moving)*95/100]
	switch {
	case middle < 1.8 && fast < 3:
		return Hiking
	case middle >= 2 && middle < 4.2 && fast < 6:
		return Running
	case middle >= 4.5 && middle < 11 && fast >= 6 && fast < 20:
		return Cycling
	case middle >= 13 && fast >= 20:
		return Driving
	default:
		return Unknown
	}
}
