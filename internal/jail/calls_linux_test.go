package jail

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// verdict returns what the kernel's filter machine makes of a call.
func (f filter) verdict(t *testing.T, audit, nr uint32, args [6]uintptr) uint32 {
	t.Helper()
	var acc uint32
	for at := 0; at < len(f); at++ {
		in, holds := f[at], false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if acc = map[uint32]uint32{atNumber: nr, atArch: audit}[in.K]; in.K >= atArgs {
				acc = uint32(args[(in.K-atArgs)/8])
			}
			continue
		case unix.BPF_ALU | unix.BPF_AND:
			acc &= in.K
			continue
		case unix.BPF_RET:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ:
			holds = acc == in.K
		case unix.BPF_JMP | unix.BPF_JSET:
			holds = acc&in.K != 0
		case unix.BPF_JMP | unix.BPF_JGE:
			holds = acc >= in.K
		default:
			t.Fatalf("no such instruction here: %+v", in)
		}
		if holds {
			at += int(in.Jt)
		} else {
			at += int(in.Jf)
		}
	}
	t.Fatal("the filter ends without a verdict")
	return 0
}

// Each system call that golang.org/x/sys has for an architecture is named in calls.txt: a new one has to be, before
// that version can be used. What the filter makes of each call is what the table says.
func TestEverySystemCallIsNamed(t *testing.T) {
	t.Parallel()
	for arch, a := range architectures {
		source, err := os.ReadFile(filepath.Join(os.Getenv("JAILTEST_CALLS"), "zsysnum_linux_"+arch+".go"))
		require.NoError(t, err)
		want, have := map[string]uint32{}, map[string]uint32{}
		for _, m := range regexp.MustCompile(`SYS_([A-Z0-9_]+)\s+= (\d+)`).FindAllStringSubmatch(string(source), -1) {
			n, err := strconv.ParseUint(m[2], 10, 32)
			require.NoError(t, err)
			want[strings.ToLower(m[1])] = uint32(n)
		}
		require.Greater(t, len(want), 300)
		list, err := Calls(arch)
		require.NoError(t, err)
		named := 0
		for _, c := range list {
			have[c.Name], named = c.Number, named+1
		}
		require.Equal(t, want, have, "name it in calls.txt as refused, boxed, absent, checked or harmless, and why")
		require.Len(t, have, named, "a name stands there twice")

		out, err := program(arch, false, false, false)
		require.NoError(t, err)
		boxed, err := program(arch, false, true, false)
		require.NoError(t, err)
		for _, c := range list {
			refusal := unix.SECCOMP_RET_ERRNO | uint32(c.Errno)
			verdict := out.verdict(t, a.audit, c.Number, c.Args)
			if c.Verdict == Harmless {
				require.EqualValues(t, unix.SECCOMP_RET_ALLOW, verdict, c.Name)
				continue
			}
			require.Equal(t, refusal, verdict, "%s %s", arch, c.Name)
			require.Equal(t, c.Verdict != Boxed, boxed.verdict(t, a.audit, c.Number, c.Args) == refusal, c.Name)
			honest := map[string][6]uintptr{
				"socket": {unix.AF_INET, unix.SOCK_STREAM}, "socketpair": {unix.AF_UNIX, unix.SOCK_STREAM}, "ioprio_set": {ioprioProcess, 0},
			}[c.Name]
			require.Equal(t, c.Verdict == checked, out.verdict(t, a.audit, c.Number, honest) == unix.SECCOMP_RET_ALLOW, c.Name)
		}
		sctp := out.verdict(t, a.audit, have["socket"], [6]uintptr{unix.AF_INET, unix.SOCK_SEQPACKET}) // by the type's usual protocol
		require.NotEqualValues(t, unix.SECCOMP_RET_ALLOW, sctp)
		require.EqualValues(t, unix.SECCOMP_RET_ERRNO|unix.ENOSYS, out.verdict(t, a.audit, 4000, [6]uintptr{}), "newer than the table")
		require.EqualValues(t, unix.SECCOMP_RET_KILL_PROCESS, out.verdict(t, a.audit+1, 0, [6]uintptr{}), "of another architecture")
	}
	_, err := Calls("mips")
	require.ErrorContains(t, err, "mips")
}
