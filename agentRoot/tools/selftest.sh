#!/bin/sh
# Runs the tools over a small sample and compares what they say with what is
# right, so that a strange awk is found before it has spoilt a result.
set -eu
export LC_ALL=C DATA=testdata
cd "$(dirname "$0")"

expect() { # file got
	[ "$2" = "$(cat "$1")" ] && return
	echo "selftest: this machine's awk does not give what $1 says but" >&2
	printf '%s\n' "$2" >&2
	exit 1
}

expect testdata/files.tsv "$(printf 'shapes/%s.go\n' generate shapes shapes_windows tagged |
	awk -v os=linux -v arch=amd64 -f files.awk)"
expect testdata/api.tsv "$(printf 'shapes\tshapes/%s.go\n' shapes tagged | awk -f api.awk)"
echo "selftest: the tools work on this machine"
