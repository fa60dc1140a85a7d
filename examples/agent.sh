#!/bin/sh
# An agent of your own, whole: every role of a card (docs/agents.md, "An agent of your own").
# Put your model in the place of think; what each role leaves behind stays as it is.
set -eu

# think reads an assignment and prints what is to be written. Of those who judge its exit code is the verdict.
think() { grep -c . | sed 's/$/ lines were read, and nobody has thought about them yet./'; }

say() { printf '{"type":"text","text":"%s"}\n' "$1"; } # a step on the task's page
keep() {                                               # what is not committed does not count
	git add --all
	git diff --cached --quiet || git commit --quiet -m "$SIGNALBOX_WORK_ITEM: $SIGNALBOX_ROLE"
}
write() {
	mkdir -p "$(dirname "$1")"
	{ printf '# %s of %s\n\n1. ' "$2" "$SIGNALBOX_WORK_ITEM" && think <"$SIGNALBOX_PROMPT_FILE"; } >"$1"
}
judge() { # the word that is good, and the other one
	if words=$(think <"$SIGNALBOX_PROMPT_FILE"); then verdict=$1; else verdict=$2; fi
	printf -- '---\nverdict: %s\nsha: %s\nsummary: %s\n---\n' "$verdict" "$SIGNALBOX_SHA" "$words" >"$SIGNALBOX_REPORT"
}

say "The $SIGNALBOX_ROLE is at work on $SIGNALBOX_WORK_ITEM."
if [ -n "${SIGNALBOX_REPORT:-}" ]; then
	# shellcheck disable=SC2086 # two words
	judge $SIGNALBOX_VERDICTS
elif [ "$SIGNALBOX_ROLE" = developer ]; then
	write "work/$SIGNALBOX_WORK_ITEM.md" Work && keep
elif [ -n "${SIGNALBOX_DOCUMENTS:-}" ]; then
	for name in $SIGNALBOX_DOCUMENTS; do write "$SIGNALBOX_DOCS/$name" "$name"; done
	keep
fi
