package worktree_test

import (
	"testing"

	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

// FuzzEscape: a name comes back from its escaped form, and no stored name becomes
// one that leads elsewhere.
func FuzzEscape(f *testing.F) {
	for _, name := range testkit.GitLookalikes {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if got := worktree.UnescapeName(name); got != name && (worktree.IsPathComponent(got) != nil || worktree.NeverRecorded(got) || worktree.EscapeName(got) != name) {
			t.Fatalf("%q became %q", name, got)
		}
		if worktree.IsPathComponent(name) != nil || worktree.NeverRecorded(name) {
			return
		}
		stored := name
		if worktree.NeedsEscape(name) {
			stored = worktree.EscapeName(name)
			if worktree.IsDotGit(stored) || worktree.IsPathComponent(stored) != nil {
				t.Fatalf("%q is stored as %q", name, stored)
			}
		}
		if got := worktree.UnescapeName(stored); got != name {
			t.Fatalf("%q was stored as %q and came back as %q", name, stored, got)
		}
	})
}
