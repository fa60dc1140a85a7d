package jail

import (
	"os"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// System returns what every execution may read: the system's programs and libraries, the part
// of /etc that they need, and what PATH names. Of /etc, /var and /run nothing else: they
// hold keys, databases and sockets.
func System() work.Jail {
	j := work.Jail{Read: []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/snap",
		"/proc", "/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",
	}}
	for _, name := range []string{
		"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "claude-code", "codex",
		"crypto-policies", "debian_version", "fonts", "gai.conf", "gemini-cli", "gitattributes", "gitconfig", "group",
		"host.conf", "hostname", "hosts", "inputrc", "java", "ld.so.cache", "ld.so.conf", "ld.so.conf.d",
		"ld.so.preload", "locale.alias", "localtime", "lsb-release", "magic", "mime.types", "nsswitch.conf",
		"opencode", "os-release", "passwd", "pki", "profile", "protocols", "resolv.conf", "rpc", "services", "shells",
		"ssl/certs", "ssl/cert.pem", "ssl/openssl.cnf", "terminfo", "timezone", "vimrc",
	} {
		j.Read = append(j.Read, "/etc/"+name)
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		j.Read = append(j.Read, filepath.Clean(dir))
		// A toolchain that lies elsewhere has its programs beside its libraries.
		prefix := filepath.Dir(filepath.Clean(dir))
		j.Read = append(j.Read, filepath.Join(prefix, "lib", "node_modules"))
		if _, err := os.Stat(filepath.Join(prefix, "pkg", "tool")); err == nil { // Go's
			j.Read = append(j.Read, prefix)
		}
	}
	return j
}
