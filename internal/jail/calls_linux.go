package jail

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Verdict says how the filter answers a system call.
type Verdict string

// Verdicts.
const (
	refused  Verdict = "refused"  // EPERM
	Boxed    Verdict = "boxed"    // refused outside of a box
	absent   Verdict = "absent"   // ENOSYS
	checked  Verdict = "checked"  // refused by its arguments
	Harmless Verdict = "harmless" // allowed
)

// Call is a system call of this machine's table.
type Call struct {
	Name    string
	Number  uint32
	Verdict Verdict
	Why     string // of all calls in one group of the table
	// Args are some that are refused, with Errno, and do nothing without the filter either.
	Args  [6]uintptr
	Errno unix.Errno
}

// calls is the table: each call of the kernel, by verdict and reason.
//
//go:embed calls.txt
var calls string

// architecture is one whose numbers the table has.
type architecture struct {
	column int    // of the table
	audit  uint32 // the kernel's name of it
}

var architectures = map[string]architecture{
	"amd64": {0, unix.AUDIT_ARCH_X86_64},
	"arm64": {1, unix.AUDIT_ARCH_AARCH64},
}

// Calls returns the table of an architecture (a GOARCH), in its order; of one that it does not have, an error.
func Calls(arch string) (list []Call, err error) {
	a, known := architectures[arch]
	if !known {
		return nil, fmt.Errorf("the numbers of this machine's system calls are not known here, want amd64 or arm64: %s", arch)
	}
	rules, group := checks(false, false), Call{}
	for line := range strings.Lines(calls) {
		if verdict, why, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && line[0] != ' ' {
			group = Call{Verdict: Verdict(verdict), Why: why}
			continue
		}
		for pair := range strings.FieldsSeq(line) {
			name, numbers, ok := strings.Cut(pair, "=")
			if !ok || line[0] == '#' || strings.Split(numbers, "/")[a.column] == "-" {
				continue
			}
			c := group
			n, err := strconv.ParseUint(strings.Split(numbers, "/")[a.column], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("the table of system calls: %s: %w", name, err)
			}
			c.Name, c.Number, c.Errno = name, uint32(n), unix.EPERM
			for i := range c.Args {
				c.Args[i] = ^uintptr(0)
			}
			switch rule, ruled := rules[name]; {
			case ruled != (c.Verdict == checked):
				return nil, fmt.Errorf("the table of system calls: %s is %s, and its rule says otherwise", name, c.Verdict)
			case ruled:
				c.Errno = rule.errno
				copy(c.Args[:], rule.args)
			case c.Verdict == absent:
				c.Errno = unix.ENOSYS
			}
			list = append(list, c)
		}
	}
	return list, nil
}
