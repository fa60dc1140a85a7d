#!/bin/sh
# Has a release built of images that nobody can move: each in FROM of a Dockerfile gets the digest that it has now.
# usage: pin.sh Dockerfile; RESOLVE is the command that prints the digest of an image.
set -eu
resolve=${RESOLVE:-docker buildx imagetools inspect --format "{{.Manifest.Digest}}"}
new=$(cat "$1")
for image in $(sed -n 's/^FROM \([^ ]*\).*/\1/p' "$1" | sort -u); do
	case $image in scratch | *@sha256:*) continue ;; esac
	digest=$(eval "$resolve $image") || { echo "pin.sh: the digest of $image cannot be read" >&2; exit 1; }
	expr "$digest" : 'sha256:[0-9a-f]\{64\}$' >/dev/null || { echo "pin.sh: $image has no digest: $digest" >&2; exit 1; }
	new=$(printf '%s\n' "$new" | sed "s|^FROM $image\( .*\)\{0,1\}\$|FROM $image@$digest\1|")
done
printf '%s\n' "$new" >"$1"
