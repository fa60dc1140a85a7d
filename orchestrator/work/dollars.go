package work

import (
	"fmt"
	"regexp"
	"strconv"
)

// Dollars is an amount in millionths of a dollar.
type Dollars int64

var amount = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,6}))?$`)

// UnmarshalText reads a decimal amount such as 12.50. No binary fraction is
// involved.
func (d *Dollars) UnmarshalText(text []byte) error {
	part := amount.FindSubmatch(text)
	if part == nil {
		return fmt.Errorf("%q, want an amount in dollars such as 12.50", text)
	}
	n, err := strconv.ParseInt(string(part[1])+(string(part[2]) + "000000")[:6], 10, 64)
	*d = Dollars(n)
	return err
}
