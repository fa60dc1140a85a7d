package sqlite

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// statement is one of the store's in SQLite's words.
type statement struct {
	text string
	each bool // carried out once for each element of its arguments
}

var (
	casts = regexp.MustCompile(`::[a-z]+(\[\])?`)
	each  = regexp.MustCompile(`(\* )?\s*\bfrom\s+unnest\(([^)]*)\) u\(([^)]*)\)`)
	field = regexp.MustCompile(`\bu\.(\w+)`)
	lists = regexp.MustCompile(`= any\(([^)]*)\)`)
	none  = regexp.MustCompile(`(\S+) is null`)
	some  = regexp.MustCompile(`(\S+) is not null`)
)

// translated translates a statement once: there are as many as places in the program.
func (d *DB) translated(query string) statement {
	if known, ok := d.texts.Load(query); ok {
		return known.(statement)
	}
	s := translate(query)
	d.texts.Store(query, s)
	return s
}

// translate puts a statement into SQLite's words: lists are JSON, a set of rows is one
// row at a time whose fields are parameters (there is no round trip to save), and no time is 0.
func translate(query string) statement {
	text := strings.NewReplacer("~", "", ` collate "C"`, "", "limit $", "limit +$", "(id + 0)", "id").Replace(query)
	text = casts.ReplaceAllString(text, "")
	s := statement{}
	if part := each.FindStringSubmatch(text); part != nil {
		s.each = true
		values, of := strings.Split(part[2], ","), map[string]string{}
		for i, name := range strings.Split(part[3], ",") {
			of[strings.TrimSpace(name)] = strings.TrimSpace(values[i])
		}
		row := " "
		if part[1] != "" { // select * from
			row = part[2]
		}
		text = strings.Replace(text, part[0], row, 1)
		text = field.ReplaceAllStringFunc(text, func(field string) string { return of[field[len("u."):]] })
	}
	text = lists.ReplaceAllString(text, "in (select value from json_each($1))")
	text = some.ReplaceAllString(none.ReplaceAllString(text, "$1 = 0"), "$1 <> 0")
	s.text = strings.ReplaceAll(text, "$", "?")
	return s
}

// times is how often the statement is carried out with arguments.
func (s statement) times(args []any) int {
	if s.each {
		for _, a := range args {
			if v := reflect.ValueOf(a); v.Kind() == reflect.Slice && v.Type() != reflect.TypeFor[[]byte]() {
				return v.Len()
			}
		}
	}
	return 1
}

// values are the arguments of the i-th time.
func (s statement) values(args []any, i int) []any {
	out := make([]any, len(args))
	for n, a := range args {
		out[n] = a
		switch v := a.(type) {
		case string:
			out[n] = sqlstore.Clean(v)
		case time.Time:
			out[n] = micros(v)
		case []string:
			out[n] = pick(s.each, v, i, sqlstore.Clean)
		case []int64:
			out[n] = pick(s.each, v, i, func(v int64) int64 { return v })
		case []bool:
			out[n] = pick(s.each, v, i, func(v bool) bool { return v })
		case []time.Time:
			out[n] = pick(s.each, v, i, micros)
		case [][]byte:
			out[n] = v[i]
		case []sqlstore.List:
			out[n] = pick(false, v[i], 0, sqlstore.Clean)
		}
	}
	return out
}

// pick is one element of a column, or all of them as JSON.
func pick[T, V any](one bool, list []T, i int, of func(T) V) any {
	if one {
		return of(list[i])
	}
	out := make([]V, len(list))
	for i, v := range list {
		out[i] = of(v)
	}
	body, _ := json.Marshal(out) // texts, numbers and truths always encode
	return string(body)
}

// answer are rows whose times are microseconds and whose lists are JSON.
type answer struct{ *sql.Rows }

func (a answer) Scan(dest ...any) error {
	for i, d := range dest {
		switch p := d.(type) {
		case *time.Time:
			dest[i] = (*moment)(p)
		case *[]string:
			dest[i] = (*list)(p)
		}
	}
	return a.Rows.Scan(dest...)
}

type moment time.Time

func (m *moment) Scan(v any) error {
	us, ok := v.(int64)
	if !ok {
		return fmt.Errorf("a time is %T, not a number of microseconds", v)
	}
	*m = moment(timeOf(us))
	return nil
}

type list []string

func (l *list) Scan(v any) error {
	s, _ := v.(string)
	if *l = nil; s == "[]" {
		return nil
	}
	return json.Unmarshal([]byte(s), (*[]string)(l))
}
