package runtime

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/recovery"
	"hank/recovery/execution"
	"hank/recovery/finding"
	"hank/runtime/exitcode"
	"hank/state"
)

// An agent that deletes the execution's whole directory takes the checkpoints with
// it, and the transcripts. The state is not lost: it is written anew, what the
// agent did counts, and hank doctor --fix starts the checkpoints anew.
func TestAnAgentThatDeletesHanksFolderDoesNotDeleteTheState(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	s := stageOf(t, `{"hank": [
	  {"id": "before", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo before >>log"},
	  {"id": "tamper", "name": "V", "model": "shell", "continuationMode": "fresh", "promptText": "echo tamper >>log; [ -e ../../gone ] || { : >../../gone; until rm -rf ../.hankweave; do :; done; }"},
	  {"id": "after", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo after >>log"}
	]}`)
	lineage := func() string {
		v, err := recovery.Read(s.opts.Execution)
		if err != nil {
			t.Fatal(err)
		}
		return v.State.Lineage
	}
	s.must(ModeRun, exitcode.Stopped, func(o *command) { o.StopAfter = 1 })
	was := lineage()
	s.must(ModeRun, exitcode.Decision)
	if !strings.Contains(strings.Join(s.said, "\n"), ".hankweave was deleted") {
		t.Errorf("it said:\n%s", strings.Join(s.said, "\n"))
	}
	if now := lineage(); now != was {
		t.Errorf("the lineage was %s and is %s", was, now)
	}
	s.must(ModeRun, exitcode.Decision)
	x, err := recovery.Open(t.Context(), s.opts.Execution, execution.Options{ReplaceStore: true})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Report.Has(finding.Lost) {
		t.Errorf("the lost checkpoints are not named: %+v", x.Report)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	left, made := "before\ntamper\nafter\n", "[before:completed tamper:completed after:completed]"
	if tamper := s.last("tamper"); !tamper.Settled() { // seen half deleted, its end could not be recorded: a person decides
		if said := strings.Join(s.said, "\n"); !strings.Contains(said, "were changed while the codon was running: the journal (lstat") {
			t.Errorf("the end of tamper is not recorded, and the directory was not seen half deleted:\n%s", said)
		}
		left, made = "before\ntamper\ntamper\nafter\n", fmt.Sprintf("[before:completed tamper:%s tamper:completed after:completed]", tamper.Status)
		s.must(ModeRun, exitcode.Decision)
		s.opts.KeepTree = true
	}
	s.must(ModeRun, exitcode.Done)
	if got := content(t, s.workspace(), "log"); got != left {
		t.Errorf("the codons have left %q, want %q", got, left)
	}
	if got := s.records(); fmt.Sprint(got) != made {
		t.Errorf("records are %v, want %s", got, made)
	}
	s.fsck()
}

// saved waits until state.json holds the codon tamper as running: a save that is under way
// replaces whatever is there, and need not notice.
const saved = "until [ \"$(grep -c claudeSessionId state.json)\" -ge 2 ]; do :; done; "

// tamperings are what an agent may do to hank's own files, in the workspace of a
// default execution. The paths are relative to the execution.
var tamperings = map[string]string{
	"nothing":                 "true",
	"state.json deleted":      saved + "rm -f state.json",
	"both states deleted":     saved + "rm -f state.json state.json.bak",
	"state.json a folder":     saved + "until { rm -rf state.json; mkdir state.json && echo x >state.json/x; } 2>/dev/null; do :; done",
	"journal deleted":         "rm -f events/events.jsonl",
	"journal truncated":       "head -c 500 events/events.jsonl >e && cat e >events/events.jsonl; rm e",
	"journal added to":        `echo '{"seq":9999,"type":"x"}' >>events/events.jsonl`,
	"journal edited in place": `printf X | dd of=events/events.jsonl bs=1 seek=700 conv=notrunc`,
	"journal replaced":        "cp events/events.jsonl e && mv e events/events.jsonl",
	"events deleted":          "rm -rf events",
	"lock replaced":           "echo 1 >runtime.lock",
	"meta deleted":            "rm -f execution-meta.json",
	"meta edited":             `echo '{"version":"1.0.0"}' >execution-meta.json`,
	"references, HEAD gone":   "cd checkpoints/.hankweavecheckpoints && rm -rf refs packed-refs HEAD",
	"references moved":        `cd checkpoints/.hankweavecheckpoints && for r in refs/heads/*; do echo 0123456789012345678901234567890123456789 >$r; done`,
	"references garbled":      `cd checkpoints/.hankweavecheckpoints && for r in refs/heads/*; do : >$r; done`,
	"HEAD and config edited":  "cd checkpoints/.hankweavecheckpoints && echo x >HEAD && printf '[core]\\n\\tbare = false\\n\\tautocrlf = true\\n' >config && rm -rf info",
	"run folders deleted":     "rm -rf runs",
	"everything but objects":  "rm -rf events state.json state.json.bak runtime.lock execution-meta.json index runs homes tmp",
	"modes taken away":        "chmod 000 checkpoints/.hankweavecheckpoints events runs index; chmod 000 .",
	"modes given away":        "find . -type d -exec chmod 777 {} + ; find . -type f -exec chmod 666 {} +",
	"flooded":                 `mkdir flood; cd flood; i=0; while [ $i -lt 40 ]; do mkdir $i; (cd $i; seq 50 | xargs touch); i=$((i+1)); done; cd ..; seq 1000 | sed 's/^/f/' | xargs touch; cd events; seq 500 | xargs touch; cd ../checkpoints/.hankweavecheckpoints/refs/heads; seq 500 | xargs touch`,
}

// Whatever an agent does to hank's files (git's objects are another matter), the
// run continues to its end, no codon runs twice, what is not hank's is left alone,
// it is said, and nothing of the history is lost.
func TestAnAgentThatTampersWithHanksFilesIsNoticedAndCostsNothing(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for name, act := range tamperings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, fmt.Sprintf(`{"hank": [
			  {"id": "before", "name": "B", "model": "shell", "continuationMode": "fresh", "promptText": "echo before >>log"},
			  {"id": "tamper", "name": "V", "model": "shell", "continuationMode": "fresh", "promptText": %q},
			  {"id": "after", "name": "A", "model": "shell", "continuationMode": "fresh", "promptText": "echo after >>log"}
			]}`, "cd ../.hankweave && until grep '\"tamper\"' events/events.jsonl | grep -q '\"running\"'; do :; done; ("+act+") && cd - && echo tamper >>log"))
			s.must(ModeRun, exitcode.Done)
			if got := content(t, s.workspace(), "log"); got != "before\ntamper\nafter\n" {
				t.Errorf("the codons have left %q", got)
			}
			if got, want := s.records(), []string{"before:completed", "tamper:completed", "after:completed"}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("records are %v", got)
			}
			if got := s.last("before"); got.CompletionCheckpoint == "" {
				t.Error("the checkpoint of before is not known")
			}
			noticed := strings.Contains(strings.Join(s.said, "\n"), "hank's own files")
			if strings.HasPrefix(name, "journal") && len(s.last("tamper").Notes) == 0 {
				t.Error("the record does not say that the journal was changed")
			}
			if want := name != "nothing"; noticed != want {
				t.Errorf("noticed: %v, want %v; the record's notes are %q, it said\n%s", noticed, want, s.last("tamper").Notes, strings.Join(s.said, "\n"))
			}
			v := s.view()
			if v.Report.Has(finding.Lost) || v.Report.Has(finding.Blocked) {
				t.Errorf("readers find %+v", v.Report.Findings)
			}
			s.fsck()
			for _, id := range []state.CodonID{"before", "tamper", "after"} {
				if sha := s.last(id).CompletionCheckpoint; s.git("merge-base", "--is-ancestor", string(sha), v.State.Newest().GitBranch) != "" {
					t.Errorf("the checkpoint of %s is not on the branch", id)
				}
			}
			if fi, err := os.Stat(v.Layout.Hankweave()); err != nil || fi.Mode().Perm() != 0o700 {
				t.Errorf("the folder's mode is %v, %v", fi.Mode(), err)
			}
			s.must(ModeRun, exitcode.Done) // and opens again, with nothing left to do
			s.mustRollback("before")
			if got := content(t, s.workspace(), "log"); got != "before\n" {
				t.Errorf("rolled back, it holds %q", got)
			}
		})
	}
}
