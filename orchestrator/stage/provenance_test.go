package stage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A person's word says whose it is: by issuer and subject where a provider vouches, else by the account.
func TestVouch(t *testing.T) {
	at := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		by   stage.Principal
		want string
	}{
		{stage.Principal{ID: "kim@acme.org", Subject: "https://id.acme.org#7", Proof: stage.ProofProvider}, "by person/https://id.acme.org#7 (provider)"},
		{stage.Principal{ID: "kim", Via: stage.ViaHost, Proof: stage.ProofHost}, "by user/kim (host)"},
		{stage.Principal{ID: "9", Name: "Kim", Via: stage.ViaWebhook, Proof: stage.ProofSignature}, "by person/Kim (signature)"},
		{stage.Principal{Proof: stage.ProofNone}, ""},
	} {
		v := c.by.Vouch("abc", at)
		require.Equal(t, "abc", v.SHA)
		require.Equal(t, c.want, stage.Provenance(v).By())
		body, err := json.Marshal(stage.State{Vouched: v})
		require.NoError(t, err)
		var back stage.State
		require.NoError(t, json.Unmarshal(body, &back))
		require.Equal(t, v, back.Vouched)
	}
	require.Equal(t, "by nobody known, by the files of def", stage.Provenance{SHA: "abc", Judge: "def"}.By())
	var older stage.State
	require.NoError(t, json.Unmarshal([]byte(`{"vouched":"abc"}`), &older))
	require.Equal(t, stage.Vouch{SHA: "abc"}, older.Vouched)
	require.Error(t, json.Unmarshal([]byte(`{"vouched":7}`), &older))
}
