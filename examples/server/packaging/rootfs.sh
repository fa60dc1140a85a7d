#!/bin/sh
# Makes the file system of the image: git and ssh with the libraries that they need, CA
# certificates, a user without rights. Needs Debian with its package lists, and root for chown.
set -eu
root="$1"
apt-get update -qq
cd "$(mktemp -d)"
# What git-core calls a shell script for is not used by the service; agents bring their own images.
for package in $(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances git openssh-client ca-certificates tzdata |
	grep '^[a-z]' | sort -u | grep -vE '^(perl.*|debconf.*|libperl.*|dpkg|adduser|passwd|liberror-perl|cdebconf.*|debianutils)$'); do
	apt-get download -qq "$package" 2>/dev/null || true # a virtual package
done
mkdir -p "$root"
for deb in ./*.deb; do dpkg -x "$deb" "$root"; done
rm -rf "$root"/usr/share/doc "$root"/usr/share/man "$root"/usr/share/locale "$root"/usr/share/perl* "$root"/var
mkdir -p "$root"/etc/ssl/certs "$root"/etc/signalbox "$root"/data "$root"/tmp
find "$root"/usr/share/ca-certificates -name '*.crt' -exec cat {} + >"$root"/etc/ssl/certs/ca-certificates.crt
echo 'signalbox:x:65532:65532::/data:/usr/sbin/nologin' >"$root"/etc/passwd
echo 'signalbox:x:65532:' >"$root"/etc/group
chown 65532:65532 "$root"/data
chmod 1777 "$root"/tmp
