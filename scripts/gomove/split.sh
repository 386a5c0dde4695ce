#!/bin/bash
# usage: split.sh checkpoint|recovery|runtime [folder]
# Makes branch split-NAME off main (or off $BASE) in a worktree (a new temporary folder
# unless one is given), prepares, moves by the plan, builds, vets and commits.
set -euo pipefail
name=$1 at=${2:-$(mktemp -d)/split-$1} here=$(cd "$(dirname "$0")" && pwd)
base=${BASE:-main}
(cd "$here" && go build -o gomove .)
if [ -d "$at" ]; then
	git -C "$at" checkout -q --force -B "split-$name" "$base" && git -C "$at" clean -fdq
else
	git -C "$here" worktree add -q -B "split-$name" "$at" "$base"
fi
cd "$at"
if [ -f "$here/prep/$name.py" ]; then
	python3 "$here/prep/$name.py"
	go build ./...
	git add -A && git commit -q -F "$here/prep/$name.msg"
fi
if [ -f "$here/prep/$name.commits" ]; then # commits of a branch, in order
	xargs -r git cherry-pick --allow-empty < "$here/prep/$name.commits"
fi
"$here/gomove" ${GOMOVE:-} -dir "$at" "$here/plans/$name.plan"
if [ -f "$here/prep/$name-after.py" ]; then python3 "$here/prep/$name-after.py"; fi
go build ./... && go vet ./...
[ -z "$(gofmt -l $(git ls-files '*.go' --others --cached --exclude-standard | xargs -I{} sh -c 'test -f {} && echo {}'))" ]
[ -n "${FAST:-}" ] || for os in darwin windows; do GOOS=$os CGO_ENABLED=0 go vet ./...; done
[ -n "${FAST:-}" ] || go test ./docs ./internal/vfs ./scripts/...
git add -A && git commit -q -F "$here/plans/$name.msg"
git log --oneline -3
