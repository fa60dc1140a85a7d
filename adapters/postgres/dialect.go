package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/signalbox-dev/signalbox/internal/sqlstore"
)

// values are the arguments of a statement as pgx sends them: texts that PostgreSQL can
// hold, null for no time, and a list of texts as an array's text.
func values(args []any) []any {
	for i, a := range args {
		switch v := a.(type) {
		case string:
			args[i] = sqlstore.Clean(v)
		case []string:
			args[i] = texts(v)
		case time.Time:
			args[i] = when(v)
		case []time.Time:
			list := make([]*time.Time, len(v))
			for n := range v {
				list[n] = when(v[n])
			}
			args[i] = list
		case []sqlstore.List:
			list := make([]string, len(v))
			for n := range v {
				list[n] = array(v[n])
			}
			args[i] = list
		}
	}
	return args
}

// array writes texts as PostgreSQL reads an array.
func array(list []string) string {
	if len(list) == 0 {
		return "{}"
	}
	quote, out := strings.NewReplacer(`\`, `\\`, `"`, `\"`), texts(list)
	for i := range out {
		out[i] = quote.Replace(out[i])
	}
	return `{"` + strings.Join(out, `","`) + `"}`
}

// answer are rows whose times may be null.
type answer struct{ pgx.Rows }

func (a answer) Scan(dest ...any) error {
	for i, d := range dest {
		switch p := d.(type) {
		case *time.Time:
			dest[i] = (*moment)(p)
		case *[]string:
			defer func() { // as it was put
				if len(*p) == 0 {
					*p = nil
				}
			}()
		}
	}
	return a.Rows.Scan(dest...)
}

// moment is a time that is zero for null.
type moment time.Time

func (m *moment) ScanTimestamptz(v pgtype.Timestamptz) error {
	if *m = (moment{}); v.Valid {
		*m = moment(v.Time.UTC())
	}
	return nil
}

func texts(list []string) []string {
	out := make([]string, len(list)) // never nil: that would be null
	for i, s := range list {
		out[i] = sqlstore.Clean(s)
	}
	return out
}

// when is a time as it is stored: null for none.
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := sqlstore.Stamp(t)
	return &u
}
