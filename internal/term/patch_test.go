package term

import (
	"os"
	"strings"
	"testing"
)

func TestAPatchIsPaintedLineByLine(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	w := &patchLines{out: &out, paint: func(paint func(*os.File, string) Painted, line string) string { return "<" + line + ">" }}
	for _, part := range []string{"diff --git a/x b/x\n--- a/x\n+++", " b/x\n@@ -1 +1 @@\n-o\x1b[2Jld\n+n", "ew\n same\n--- x\n\\ No newline"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	const want = "<diff --git a/x b/x>\n<--- a/x>\n<+++ b/x>\n<@@ -1 +1 @@>\n<-old>\n<+new>\n same\n<--- x>\n\\ No newline"
	if err := w.Close(); err != nil || out.String() != want {
		t.Errorf("%q %v, want %q", out.String(), err, want)
	}
}
