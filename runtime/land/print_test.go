package land

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hank/runtime/history"
	"hank/state"
)

// printed is a report as a file gets it.
func printed(t *testing.T, l *Landing) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := l.Print(f, Reader{Git: " -C repo", Hank: func(c string) string { return c + " -e exe" }}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.ContainsRune(line, 0x1b) || strings.HasSuffix(line, " \n") {
			t.Errorf("an escape byte, or a blank at the end: %q", line)
		}
	}
	return string(text)
}

func id(digit string) string { return strings.Repeat(digit, 40) }

// A dry run begins with what matters and names no commit, since the next landing
// makes others. What has landed is a table and a line for each matter.
func TestAReportBeginsWithWhatMatters(t *testing.T) {
	t.Parallel()
	l := &Landing{
		Branch: "work", Base: id("b"), Tip: id("3"), DryRun: true, From: history.Target{SHA: state.SHA(id("f"))},
		Commits: []Commit{
			{SHA: id("1"), Title: "First", Codons: []state.CodonID{"one"}, Files: []File{{FileName{Path: "a"}, "added"}, {FileName{Path: "b"}, "added"}, {FileName{Path: "c"}, "deleted"}}},
			{SHA: id("2"), Title: "Changes made by hand", Files: []File{{FileName{Path: "a"}, "modified"}}},
			{SHA: id("3"), Title: "Run three to four", Files: []File{{FileName{Path: "a"}, "modified"}}},
		},
		Codons:  []Codon{{CodonID: "one", Verdict: "completed", Commit: id("1")}, {CodonID: "two", Verdict: "failed", But: "failure ignored"}, {CodonID: "three", Verdict: "completed", Commit: id("3")}, {CodonID: "four", Verdict: "completed", Commit: id("3")}},
		LeftOut: []LeftOut{{FileName{Path: "x\ty"}, "it is the data"}}, Mixed: []FileName{{Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "d"}},
		Checks: []Check{{What: "all is well", Right: true}, {What: "the mode", Why: "it differs", Files: []FileName{{Path: "a"}}}},
		Switch: &Switch{Ref: "refs/heads/main", Commit: id("b"), Index: "x; ls", Staged: []FileName{{Path: "s"}}, Back: "rm -rf /"}, Repository: "/r", into: "main", intoAt: id("b"),
	}
	if got, want := printed(t, l), `branch work would be 3 commits on top of bbbbbbbbbbbb
HEAD and the index would move to work; no file is written; 1 path stays staged
left out, 1 path:
  "x\ty": it is the data
had uncommitted changes before the run and were changed by it; the branch has them as the run left them, with your changes where it kept them:
  a
  b
  c
  d
checked: all is well
FAILED CHECK: the mode: it differs
  these:
  a

codon  result                   cost   files  title
one    completed                $0.00  +2 -1  First
two    failed, failure ignored  $0.00  -      no changes
-      -                        -      ~1     Changes made by hand
three  completed                $0.00  ~1     Run three to four
four   completed                $0.00  -      -

nothing was written to your repository
`; got != want {
		t.Errorf("the dry run prints\n%s\nwant\n%s", got, want)
	}
	l.DryRun, l.Report = false, "/r/report.json"
	if got, want := printed(t, l), `branch work is 3 commits on top of bbbbbbbbbbbb
HEAD and the index are on work; no file is written; 1 path stays staged

commit        codon  result                   cost   files  title
111111111111  one    completed                $0.00  +2 -1  First
-             two    failed, failure ignored  $0.00  -      no changes
222222222222  -      -                        -      ~1     Changes made by hand
333333333333  three  completed                $0.00  ~1     Run three to four
333333333333  four   completed                $0.00  -      -

left out of the branch: "x\ty"
on the branch with your uncommitted changes: a, b, c, and 1 more
checked: all is well
FAILED CHECK: the mode: it differs
  these:
  a
report     /r/report.json
view with  git -C repo log -p work
way back   git -C repo update-ref refs/heads/main `+id("b")+" "+id("b")+` && git -C repo read-tree -i -m HEAD 'x; ls' && git -C repo symbolic-ref HEAD refs/heads/main
merge      git -C repo fetch . refs/heads/work:refs/heads/main && git -C repo switch main
unmerge    git -C repo update-ref refs/heads/main `+id("3")+" "+id("3")+` && git -C repo update-ref refs/heads/work `+id("3")+" "+id("3")+` && git -C repo switch work && git -C repo branch -q -f main `+id("b")+`
`; got != want {
		t.Errorf("the landing prints\n%s\nwant\n%s", got, want)
	}
	l.Switch = nil
	if got := printed(t, l); strings.Contains(got, "switch to") {
		t.Errorf("it names a switch that would be refused:\n%s", got)
	}
	if got, want := printed(t, l), "\nway back   git -C repo update-ref refs/heads/work "+id("3")+" "+id("3")+" && git -C repo branch -q -D work\n"; !strings.HasSuffix(got, want) {
		t.Errorf("its way back is not\n%s\n%s", want, got)
	}
	l.follows = true
	if got := printed(t, l); !strings.HasSuffix(got, "\nswitch to  hank land --branch work --switch -e exe\n") {
		t.Errorf("it does not name the switch:\n%s", got)
	}
	for range 60 {
		l.Codons = append(l.Codons, Codon{CodonID: "more", Verdict: "completed"})
	}
	if got := printed(t, l); !strings.Contains(got, "\nand           45 more  -") || strings.Count(got, " more ") > 22 {
		t.Errorf("it lists all:\n%s", got)
	}
}
