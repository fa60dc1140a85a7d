package trackhttp

// What tests use and no other package does.
type (
	Health      = health
	CacheHealth = cacheHealth
	Problem     = problemDocument
)
