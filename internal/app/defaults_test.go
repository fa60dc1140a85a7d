package app

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
)

// What is on where nothing is set is on in a service that is given no features, and is kept as long.
func TestDefaultFeatures(t *testing.T) {
	t.Parallel()
	s, err := Load(nil)
	require.NoError(t, err)
	ours, theirs := s.Features, features.Default()
	require.Equal(t, ours.Retention, theirs.Retention)
	require.Equal(t, ours.DepsSource, theirs.DepsSource)
	for i, f := range reflect.VisibleFields(reflect.TypeFor[features.Set]()) {
		if f.Type.Kind() == reflect.Bool {
			require.Equal(t, reflect.ValueOf(ours).Field(i).Bool(), reflect.ValueOf(theirs).Field(i).Bool(), f.Name)
		}
	}
}

// Options that nobody has set get the defaults that their settings have.
func TestDefaultsOfOptions(t *testing.T) {
	t.Parallel()
	s, err := Load(nil)
	require.NoError(t, err)
	engine, gate, watch := s.Engine, s.Features.MergeGate, s.Features.Watch
	engine.MaxConcurrency, engine.AgentRetries, engine.Poll, engine.Stage.CIPoll = 0, nil, -1, 0
	gate.DeferMax, gate.TTL, watch.Failures = 0, 0, -3
	defaults.Fill(&engine)
	defaults.Fill(&engine.Stage)
	defaults.Fill(&gate)
	defaults.Fill(&watch)
	require.Equal(t, s.Engine, engine)
	require.Equal(t, s.Features.MergeGate, gate)
	require.Equal(t, s.Features.Watch, watch)
}
