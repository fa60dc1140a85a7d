// Package defaults gives options their defaults from the tags that also declare them as settings, so that each
// default stands in one place.
package defaults

import (
	"cmp"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Fill sets the fields of a struct that are zero, or below, to the defaults of their tags: numbers, words, spans of time, and
// lists of words and spans. Without a tag a logger that is missing discards, and a clock that is missing is the machine's. Switches
// stay: false is a value. A field of another kind, or a default that is not of
// its kind, is a mistake of the program and stays zero; see the test of whoever declares one.
func Fill[T any](options *T) {
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		field, text := v.Field(i), v.Type().Field(i).Tag.Get("envDefault")
		if text != "" && field.CanSet() && (field.IsZero() || field.CanInt() && field.Int() < 0) {
			set(field, text)
		}
		switch missing := field.Addr().Interface().(type) {
		case **slog.Logger:
			*missing = cmp.Or(*missing, slog.New(slog.DiscardHandler))
		case *func() time.Time:
			if *missing == nil {
				*missing = time.Now
			}
		}
	}
}

func set(field reflect.Value, text string) {
	span := reflect.TypeFor[time.Duration]()
	switch kind := field.Kind(); {
	case field.Type() == span:
		d, _ := time.ParseDuration(text)
		field.SetInt(int64(d))
	case kind == reflect.Int || kind == reflect.Int64:
		n, _ := strconv.ParseInt(text, 10, 64)
		field.SetInt(n)
	case kind == reflect.String:
		field.SetString(text)
	case kind == reflect.Slice && (field.Type().Elem() == span || field.Type().Elem().Kind() == reflect.String):
		for part := range strings.SplitSeq(text, ",") {
			one := reflect.New(field.Type().Elem()).Elem()
			set(one, strings.TrimSpace(part))
			field.Set(reflect.Append(field, one))
		}
	}
}
