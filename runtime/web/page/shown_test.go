package page

import (
	"strings"
	"testing"

	"hank/runtime/liveview"
	"hank/runtime/verdict"
)

// TestAHeadOfAPatchIsKnownByItsPlace: a deleted line may begin as a head does, and what repeats
// the name of the file is left out.
func TestAHeadOfAPatchIsKnownByItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text   string
		inHunk bool
		want   string
	}{
		{"diff --git a/x b/x", false, ""}, {"index 0..1", false, ""}, {"--- a/x", false, ""}, {"+++ b/x", false, ""},
		{"new file mode 100644", false, "head"}, {"@@ -1 +1 @@", true, "hunk"},
		{"--- a comment of SQL", true, "del"}, {"+++ x", true, "add"}, {" same", true, "same"},
	} {
		if got := lineClass(c.text, c.inHunk); got != c.want {
			t.Errorf("%q, in a hunk: %t: %q, want %q", c.text, c.inHunk, got, c.want)
		}
	}
}

// TestWhatIsToComeIsNoWarning: a codon that has not begun needs nobody.
func TestWhatIsToComeIsNoWarning(t *testing.T) {
	t.Parallel()
	for _, word := range []string{next, toCome} {
		if class(word) != "dim" || mark(word) != "·" {
			t.Errorf("%s is shown as %s %s", word, class(word), mark(word))
		}
	}
}

// TestAVerdictHasOneSign: a page has the sign of a verdict that a terminal has.
func TestAVerdictHasOneSign(t *testing.T) {
	t.Parallel()
	for _, of := range []verdict.Verdict{verdict.NotBegun, verdict.Creating, verdict.Running, verdict.Completed, verdict.Failed, verdict.Stopped, verdict.Crashed, verdict.Budget, verdict.Refused,
		verdict.Waiting, verdict.Unavailable, verdict.Held, verdict.Paused, verdict.Blocked, verdict.Interrupted, verdict.RolledBack, verdict.Skipped} {
		if got, want := mark(string(of)), liveview.Symbol(of, false); got != want {
			t.Errorf("%s is %s on a page and %s in a terminal", of, got, want)
		}
	}
}

// TestALineEndsInNoTimeAndNoOption: a text is divided so that a browser keeps these whole, and
// nothing of it is lost.
func TestALineEndsInNoTimeAndNoOption(t *testing.T) {
	t.Parallel()
	p := newPrinter(func(text string) string { return strings.ReplaceAll(text, "secret", "***") })
	for text, want := range map[string]string{
		"until 2026-11-28 20:31:08; hank run --now -e /x-y/run ends it": "until [2026-11-28 20:31:08]; hank run [--now] [-e] /x-y/run ends it",
		"-e a-b":       "[-e] a-b",
		"a secret <b>": "a *** <b>",
		"":             "",
	} {
		var got strings.Builder
		for _, of := range p.parts(text) {
			if of.Whole {
				of.Text = "[" + of.Text + "]"
			}
			got.WriteString(of.Text)
		}
		if got.String() != want {
			t.Errorf("%q is divided into %q, want %q", text, got.String(), want)
		}
	}
}
