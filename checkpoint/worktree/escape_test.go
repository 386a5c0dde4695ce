package worktree_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hank/checkpoint/internal/testkit"
	"hank/checkpoint/worktree"
)

func TestEscapedNamesComeBack(t *testing.T) {
	t.Parallel()
	for _, name := range testkit.GitLookalikes {
		if !worktree.NeedsEscape(name) {
			t.Errorf("%q is not escaped", name)
		}
	}
	component := rapid.OneOf(rapid.ByteRange(1, '/'-1), rapid.ByteRange('/'+1, 0xff))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(testkit.GitLookalikes), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(component, 1, 80).Draw(t, "bytes"))
		})).Draw(t, "name")
		if worktree.IsPathComponent(name) != nil || worktree.NeverRecorded(name) {
			name = "x" + name // . and .., and what is never recorded
		}
		stored := worktree.EscapeName(name)
		if got := worktree.UnescapeName(stored); got != name {
			t.Fatalf("%q was stored as %q and came back as %q", name, stored, got)
		}
		if !worktree.NeedsEscape(name) && worktree.UnescapeName(name) != name {
			t.Fatalf("%q is stored as it is and would come back as %q", name, worktree.UnescapeName(name))
		}
	})
}

func TestUnescapeNeverMakesADangerousName(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		worktree.EscapePrefix, worktree.EscapePrefix + ".", worktree.EscapePrefix + "..", worktree.EscapePrefix + ".git", worktree.EscapePrefix + "a%2Fb", worktree.EscapePrefix + "..%2F..%2Fetc",
		worktree.EscapePrefix + "%00", worktree.EscapePrefix + "%2e%2e", worktree.EscapePrefix + ".hankweave-rig-new", worktree.EscapePrefix + ".HankWeave-restore-x", worktree.EscapePrefix + "%4", worktree.EscapePrefix + "%zz",
		worktree.EscapePrefix + "%41", // A is never coded, so EscapeName did not make this
	} {
		if got := worktree.UnescapeName(stored); got != stored {
			t.Errorf("%q became %q", stored, got)
		}
	}
}

func TestTemporaryNamesAreNeverRecordedInAnyForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".hankweave-restore-1", ".HANKWEAVE-RIG-new", ".hanKweave-restore-journal"} {
		if !worktree.NeverRecorded(name) {
			t.Errorf("%q would be recorded", name)
		}
	}
	for _, name := range []string{".gitignore", ".GIT", "hankweave", ".hank", ".hankweav", "x.hankweave", ".hankweave", ".hankweave-plan.md", ".HankWeave.backup-7"} {
		if worktree.NeverRecorded(name) {
			t.Errorf("%q would not be recorded", name)
		}
	}
}

func TestSpecialFilesThatFsckRefusesAreEscaped(t *testing.T) {
	t.Parallel()
	fine := "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/lib.git\n\tbranch = main\n"
	if !worktree.SpecialAllowed(".gitmodules", []byte(fine)) {
		t.Error("an ordinary .gitmodules would be escaped")
	}
	for _, bad := range []string{
		"[submodule \"../x\"]\n", "[submodule \"a\"]\n\turl = -u./payload\n", "[submodule \"a\"]\n\tpath = -p\n", "[submodule \"a\"]\n\tupdate = !sh\n",
		"[submodule \"a\"]\n\turl = \"--x\"\n", "[submodule \"a\"] url = -x\n", "[submodule \"a", "\x00", strings.Repeat("x", worktree.SpecialLimit+1),
	} {
		if worktree.SpecialAllowed(".gitmodules", []byte(bad)) {
			t.Errorf(".gitmodules with %.40q would be kept under its name", bad)
		}
	}
	if worktree.SpecialAllowed(".gitattributes", []byte("a\n"+strings.Repeat("x", worktree.AttributesLine)+"\n")) {
		t.Error(".gitattributes with a long line would be kept under its name")
	}
}
