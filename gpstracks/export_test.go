package gpstracks

// DedupeKey is the key of a track.
func DedupeKey(t Track) string { return dedupeKey(&t) }
