package gpstracks_test

import (
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Names lose how people are reached, and nothing that looks like it; links to people are dropped.
func TestPersonalData(t *testing.T) {
	t.Parallel()
	prepared := func(name, address string) gpstracks.Track {
		k, err := gpstracks.Prepare(gpstracks.Track{Source: "local", Name: name, URL: address,
			Lines: orb.MultiLineString{{{7, 46}, {8, 46}}}})
		require.NoError(t, err)
		return k
	}
	for name, want := range map[string]string{
		"Ride to jane@roe.example, call +49 170 1234567": "Ride to …, call …", "jane.roe+gps@mail.example.org": "…",
		"Tour (at) Bern": "Tour (at) Bern", "mail jane [at] roe.example": "mail …", "0041 79 123 45 67 Hütte": "… Hütte",
		"Anruf 0170 1234567": "Anruf …", "(555) 123-4567 run": "… run", "call 555-123-4567": "call …", "tel 0791234567": "tel …",
		"München→Jürgen@müller.example": "München→…", "+44 (0) 20 7946 0958": "…",
		// what stays
		"2024-05-01 08:30": "2024-05-01 08:30", "01.05.2024 08:30:15": "01.05.2024 08:30:15", "20240501_083000": "20240501_083000",
		"Rigi 1798 m +1200 hm": "Rigi 1798 m +1200 hm", "Track 0012": "Track 0012", "km 100-120 + 30": "km 100-120 + 30",
		"46.59312, 7.90877": "46.59312, 7.90877", "1714550400": "1714550400", "@ the lake": "@ the lake", "EV6 / 2 @ 12": "EV6 / 2 @ 12",
		"01-05-2024": "01-05-2024", "05 06 2024 Tour": "05 06 2024 Tour",
	} {
		require.Equal(t, want, prepared(name, "").Name, name)
	}
	for address, keep := range map[string]bool{
		"https://www.strava.com/activities/123": true, "https://www.strava.com/athletes/12345?name=jane": false,
		"https://www.openstreetmap.org/user/jane/traces/12": false, "https://x.com/jane": false, "https://max.com/tour/3": true,
		"https://tours.example/@jane": false, "https://tours.example/~jane/1.gpx": false, "https://tours.example/t?user=jane": false,
		"https://tours.example/t?mail=jane@roe.example": false, "https://example.org/routes/users": true,
		"https://www.hikr.org/tour/post123.html": true,
		"https://m.facebook.com/events/1":        false, "https://connect.garmin.com/modern/activity/1234567890": true,
	} {
		require.Equal(t, keep, prepared("", address).URL != "", address)
	}
}

// The reference of a track is its number at the source, never a person's.
func TestReferenceOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://www.openstreetmap.org/user/jane/traces/12": "12", "https://www.strava.com/activities/123?a=b": "123",
		"https://www.hikr.org/tour/post123.html": "post123.html", "https://tours.example/~jane/1.gpx": "1.gpx",
		"https://www.strava.com/athletes/12345": "", "https://www.strava.com/athletes/12345/": "", "https://tours.example/@jane": "",
		"https://x.com/jane": "", "https://tours.example/jane@roe.example": "", "https://tours.example/": "", "": "", "%": "",
	} {
		require.Equal(t, want, gpstracks.ReferenceOf(address), address)
	}
}
