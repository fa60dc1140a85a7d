package sqlstore

// HandedIn is how many requests are handed in that no group has taken yet.
func (s *Store) HandedIn() int { return len(s.reqs) }
