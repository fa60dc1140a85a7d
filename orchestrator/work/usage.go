package work

// Usage counts what an execution cost. Tokens are disjoint: Input excludes what was
// read from or written to the cache, whatever the agent's own convention.
type Usage struct {
	Model       string `json:"model"` // short: no provider, no vendor prefix
	Input       int64  `json:"input_tokens"`
	Output      int64  `json:"output_tokens"`
	CacheRead   int64  `json:"cache_read_input_tokens"`
	CacheCreate int64  `json:"cache_creation_input_tokens"`
	MicroUSD    int64  `json:"cost_micro_usd"` // millionths of a dollar
}

// Measured is beside a Usage that was measured between a tool and its vendor.
type Measured struct {
	Told      Usage `json:"told"`                // what the tool has said of it itself
	Estimated bool  `json:"estimated,omitempty"` // a part is an estimate by its length: an answer was cut off
}

// Differs reports whether a measured usage and what the tool has said of it are more than 2 % apart,
// in tokens or in cost. What one of them has not does not differ.
func (m *Measured) Differs(u Usage) bool {
	apart := func(a, b int64) bool {
		return a > 0 && b > 0 && float64(max(a, b)-min(a, b)) > 0.02*float64(max(a, b))
	}
	return m != nil && (apart(u.MicroUSD, m.Told.MicroUSD) || apart(u.Tokens(), m.Told.Tokens()))
}

// Unpriced reports whether tokens were used whose price is not known.
func (u Usage) Unpriced() bool { return u.MicroUSD == 0 && u.Tokens() > 0 }

// Tokens is the number of all tokens.
func (u Usage) Tokens() int64 { return u.Input + u.Output + u.CacheRead + u.CacheCreate }
