//go:build unix

package runtime

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"hank/internal/failpoint"
	"hank/internal/short"
	"hank/runtime/exitcode"
	"hank/runtime/history"
)

// What a retry could not put back is no part of what the codon starts from: the next
// retry puts it back as soon as the system lets it, and says each time before that it
// could not.
func TestWhatARetryCouldNotPutBackDoesNotBecomeItsBase(t *testing.T) {
	t.Parallel()
	const hank = `{"hank": [
		{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir m; echo 0 >m/a"BEFORE},
		{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "cat m/a >seen; [ -d m/e ] && echo e >>seen; mkdir -p m/e; echo 1 >>m/a; echo left >>m/b; exit 1"}]}`
	for name, before := range map[string]string{
		"everything is tracked":                "",
		"a part is tracked by the one before":  `, "checkpointedFiles": ["m/a"]`,
		"nothing is tracked by the one before": `, "checkpointedFiles": []`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, strings.Replace(hank, "BEFORE", before, 1))
			s.must(ModeRun, exitcode.Failed)
			base := s.last("b").BaseCheckpoint
			free := failpoint.Refuse(s.workspace(), "m/", syscall.EPERM)
			defer free()
			seen := "0\n1\n"
			for range 2 {
				s.said = nil
				s.must(ModeRetry, exitcode.Failed)
				if said := strings.Join(s.said, "\n"); !strings.Contains(said, `not as in the checkpoint: "m/a"`) || !strings.Contains(said, `not as in the checkpoint: "m/b"`) ||
					!strings.Contains(said, `not as in the checkpoint: "m/e" is an empty directory that cannot be removed: operation not permitted`) {
					t.Errorf("the retry does not say what it could not put back:\n%s", said)
				}
				if got := content(t, s.workspace(), "seen"); got != seen+"e\n" {
					t.Errorf("the attempt found %q, want %q", got, seen)
				}
				if got := s.last("b").BaseCheckpoint; got != base {
					t.Errorf("the attempt began from %.12s, the one before from %.12s", got, base)
				}
				seen += "1\n"
			}
			free()
			s.must(ModeRetry, exitcode.Failed)
			if got := content(t, s.workspace(), "seen"); got != "0\n" {
				t.Errorf("the attempt behind the obstacle found %q", got)
			}
			if got := content(t, s.workspace(), "m/b"); got != "left\n" {
				t.Errorf("the attempt behind the obstacle found what one before has added: %q", got)
			}
		})
	}
}

// An empty directory that the system does not let be removed or made is named by the
// preview of a rollback as by the rollback itself.
func TestAPreviewNamesTheEmptyDirectoriesThatStay(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
		{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "mkdir -p old/gone; echo 1 >f"},
		{"id": "b", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "rmdir old/gone old; mkdir -p new/stays; echo 2 >f"}]}`)
	s.must(ModeRun, exitcode.Done)
	for _, name := range []string{"new/stays", "old/gone"} {
		defer failpoint.Refuse(s.workspace(), name, syscall.EPERM)()
	}
	preview, err := history.PreviewRollback(t.Context(), history.RollbackOptions{Execution: s.root, To: "a"})
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"new/stays" "is an empty directory that cannot be removed: operation not permitted"} {"old/gone" "is an empty directory that cannot be made: operation not permitted"}]`
	if got := fmt.Sprintf("%q", preview.InTheWay); got != want {
		t.Errorf("the preview names %s, want %s", got, want)
	}
	if got := fmt.Sprintf("%q", s.mustRollback("a").InTheWay); got != want {
		t.Errorf("the rollback names %s, want %s", got, want)
	}
}
