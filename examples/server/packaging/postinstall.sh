#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then systemd-sysusers signalbox.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
