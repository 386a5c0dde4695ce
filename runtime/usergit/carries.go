package usergit

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// HasLines reports whether the commits that one commit has in its history, and another one
// has not, have each of some lines in one of their messages, indented or not.
func (r *Repository) HasLines(ctx context.Context, commit, begin string, lines []string) bool {
	text, err := r.read(ctx, append([]string{"log", "--format=%B"}, between(begin, commit)...)...)
	if err != nil {
		return false
	}
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		found[strings.TrimSpace(line)] = true
	}
	return !slices.ContainsFunc(lines, func(line string) bool { return !found[line] })
}

// OthersChanged reports whether a commit that one commit has in its history, and another one
// has not, has changed a path, and no line of its message begins with a text, indented or not.
func (r *Repository) OthersChanged(ctx context.Context, commit, begin, path, text string) (bool, error) {
	args := append([]string{"rev-list", "--max-count=1", "--basic-regexp", "--invert-grep", "--grep=^ *" + text}, between(begin, commit)...)
	out, err := r.read(ctx, append(args, ":(top,literal)"+path)...)
	return strings.TrimSpace(out) != "", err
}

// mostCompared is how many commits, of the newest, are compared by what they change.
const mostCompared = 200

// HasChanges reports whether one of the newest commits that a commit has in its history, and
// begin has not, changes what leads from begin to tip, or several of them change what the
// commits from begin to tip do: by git patch-id, which does not look at where in a file a
// change is.
func (r *Repository) HasChanges(ctx context.Context, commit, begin, tip string) bool {
	if begin == "" {
		return false
	}
	plain := []string{"-p", "--no-ext-diff", "--no-textconv", "--no-renames", "--full-index", "--binary"}
	log := func(tip string) []string {
		list := append([]string{"log", "--no-merges", "--format=%H", fmt.Sprintf("--max-count=%d", mostCompared)}, plain...)
		return append(list, between(begin, tip)...)
	}
	theirs := r.patchIDs(ctx, log(commit))
	if len(theirs) == 0 {
		return false
	}
	has := func(id string) bool { return slices.Contains(theirs, id) }
	all := r.patchIDs(ctx, append(append([]string{"diff-tree"}, plain...), begin, tip))
	if slices.ContainsFunc(all, has) {
		return true
	}
	each := r.patchIDs(ctx, log(tip))
	return len(each) > 0 && len(each) < mostCompared && !slices.ContainsFunc(each, func(id string) bool { return !has(id) })
}

// patchIDs are those of what a git command prints; none if it cannot be told.
func (r *Repository) patchIDs(ctx context.Context, args []string) (ids []string) {
	patches, err := r.read(ctx, args...)
	if err != nil {
		return nil
	}
	out, err := r.output(ctx, call{dir: r.Top, env: r.env, args: []string{"patch-id", "--stable"}, stdin: strings.NewReader(patches + "\n")})
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	return ids
}

// between are the arguments for the commits that a commit has, and begin has not; begin may
// be empty.
func between(begin, commit string) []string {
	if begin == "" {
		return []string{commit, "--"}
	}
	return []string{commit, "^" + begin, "--"}
}

// ShortName is the shortest name of a branch that means nothing else: heads/NAME where there
// is a tag of this name.
func (r *Repository) ShortName(ctx context.Context, branch string) string {
	short, err := r.read(ctx, "rev-parse", "--abbrev-ref=strict", "refs/heads/"+branch)
	if err != nil {
		return branch
	}
	return short
}
