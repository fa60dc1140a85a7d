package gpstracks

// OldKey is the key of removals of earlier versions.
func OldKey(t Track) string { return oldKey(&t) }
