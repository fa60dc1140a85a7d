package wiring

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/service"
)

// What is on where nothing is set is on in a service that is given no features, and is kept as long.
func TestDefaultFeatures(t *testing.T) {
	t.Parallel()
	s, err := Load(nil)
	require.NoError(t, err)
	ours, theirs := s.features(), service.DefaultFeatures()
	require.Equal(t, []any{ours.Retention, ours.KeepLogs}, []any{theirs.Retention, theirs.KeepLogs})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[service.Features]()) {
		if kind := f.Type.Kind(); kind != reflect.Struct { // which are always on
			require.Equal(t, reflect.ValueOf(*ours).FieldByIndex(f.Index).IsZero(), reflect.ValueOf(*theirs).FieldByIndex(f.Index).IsZero(), f.Name)
		}
	}
}
