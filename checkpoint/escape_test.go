package checkpoint

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// gitLookalikes are names that git's fsck refuses, or takes for another name.
var gitLookalikes = []string{
	".GIT", ".Git", ".git ", ".git.", ".git...", ".git . .", ".git:stream", ".git::$INDEX_ALLOCATION", "git~1", "GIT~1", "GIT~1.",
	".g\u200cit", "\u200d.git", ".git\ufeff", ".git\xff", ".GIT\uffff", `a\.git`, `.git\hooks`, `x\GIT~1`, `..\.git `,
	".GITMODULES", ".gitmodules ", "gitmod~1", "GI7EBA~1", "gi7d29~2", ".gitattributes.", ".gitmod\u200cules", `a\.gitmodules`,
	escapePrefix, escapePrefix + "x", escapePrefix + "%41", escapePrefix + ".GIT",
}

func TestEscapedNamesComeBack(t *testing.T) {
	t.Parallel()
	for _, name := range gitLookalikes {
		if !needsEscape(name) {
			t.Errorf("%q is not escaped", name)
		}
	}
	component := rapid.OneOf(rapid.ByteRange(1, '/'-1), rapid.ByteRange('/'+1, 0xff))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.SampledFrom(gitLookalikes), rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(component, 1, 80).Draw(t, "bytes"))
		})).Draw(t, "name")
		if isPathComponent(name) != nil || neverRecorded(name) {
			name = "x" + name // . and .., and what is never recorded
		}
		stored := escapeName(name)
		if got := unescapeName(stored); got != name {
			t.Fatalf("%q was stored as %q and came back as %q", name, stored, got)
		}
		if !needsEscape(name) && unescapeName(name) != name {
			t.Fatalf("%q is stored as it is and would come back as %q", name, unescapeName(name))
		}
	})
}

func TestUnescapeNeverMakesADangerousName(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		escapePrefix, escapePrefix + ".", escapePrefix + "..", escapePrefix + ".git", escapePrefix + "a%2Fb", escapePrefix + "..%2F..%2Fetc",
		escapePrefix + "%00", escapePrefix + "%2e%2e", escapePrefix + ".hankweave-rig-new", escapePrefix + ".HankWeave-restore-x", escapePrefix + "%4", escapePrefix + "%zz",
		escapePrefix + "%41", // A is never coded, so escapeName did not make this
	} {
		if got := unescapeName(stored); got != stored {
			t.Errorf("%q became %q", stored, got)
		}
	}
}

func TestTemporaryNamesAreNeverRecordedInAnyForm(t *testing.T) {
	t.Parallel()
	for _, name := range []string{".git", ".hankweave-restore-1", ".HANKWEAVE-RIG-new", ".hanKweave-restore-journal"} {
		if !neverRecorded(name) {
			t.Errorf("%q would be recorded", name)
		}
	}
	for _, name := range []string{".gitignore", ".GIT", "hankweave", ".hank", ".hankweav", "x.hankweave", ".hankweave", ".hankweave-plan.md", ".HankWeave.backup-7"} {
		if neverRecorded(name) {
			t.Errorf("%q would not be recorded", name)
		}
	}
}

func TestSpecialFilesThatFsckRefusesAreEscaped(t *testing.T) {
	t.Parallel()
	fine := "[submodule \"lib\"]\n\tpath = lib\n\turl = https://example.org/lib.git\n\tbranch = main\n"
	if !specialAllowed(".gitmodules", []byte(fine)) {
		t.Error("an ordinary .gitmodules would be escaped")
	}
	for _, bad := range []string{
		"[submodule \"../x\"]\n", "[submodule \"a\"]\n\turl = -u./payload\n", "[submodule \"a\"]\n\tpath = -p\n", "[submodule \"a\"]\n\tupdate = !sh\n",
		"[submodule \"a\"]\n\turl = \"--x\"\n", "[submodule \"a\"] url = -x\n", "[submodule \"a", "\x00", strings.Repeat("x", specialLimit+1),
	} {
		if specialAllowed(".gitmodules", []byte(bad)) {
			t.Errorf(".gitmodules with %.40q would be kept under its name", bad)
		}
	}
	if specialAllowed(".gitattributes", []byte("a\n"+strings.Repeat("x", attributesLine)+"\n")) {
		t.Error(".gitattributes with a long line would be kept under its name")
	}
}
