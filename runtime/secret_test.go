package runtime

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hank/internal/short"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
)

// planted are keys that a test hides, put together here so that no scanner
// takes this file for a leak.
func planted() map[string]string {
	body := strings.Repeat("abCD12efGH34ijKL56mnOP78qrST90uvWX12yzAB34cdEF56ghIJ78klMN90opQR12", 1)[:64]
	return map[string]string{
		"anthropic": "sk-" + "ant-api03-" + body[:40],
		"github":    "gh" + "p_" + body[:36],
		"aws":       "AK" + "IAABCDEFGHIJKLMNOP",
		"value":     "only-the-environment-knows-me-77",
		"line":      "abcDEF123456secretline",
		"pem":       body,
	}
}

// A script prints keys, fails with keys, leaves a process behind with a key in
// its arguments; hank.json has keys in prompt, name, env and rig. No byte that
// hank wrote holds one: neither state nor journal, lock, meta, nor any object of
// the store but the frozen program. The transcripts are the agent's own, and
// nobody else's to read.
func TestNoPlantedKeyIsInAnythingThatHankWrites(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	keys := planted()
	pem := "-----BEGIN OPENSSH " + "PRIVATE KEY-----\n" + strings.Repeat(keys["pem"]+"\n", 6) + "-----END OPENSSH " + "PRIVATE KEY-----"
	all := strings.Join([]string{keys["anthropic"], keys["github"], keys["aws"], keys["value"]}, " ")
	report := filepath.Join(t.TempDir(), "report")
	s := stageOf(t, fmt.Sprintf(`{"hank": [
	  {"id": "a", "name": "A %[1]s", "model": "shell", "continuationMode": "fresh", "env": {"MY_TOKEN": %[2]q},
	   "rigSetup": [{"type": "command", "command": {"run": "echo rig $MY_TOKEN %[1]s; exit 3"}, "allowFailure": true}],
	   "promptText": %[3]q, "onFailure": "retry", "retryConfig": {"maxAttempts": 1, "delayMs": 0}}
	]}`, keys["github"], keys["value"], fmt.Sprintf(`echo out %[1]s
		nohup sleep 600 %[3]s >/dev/null 2>&1 &
		printf '%%s\n' "%[2]s" >&2
		echo "$SERVICE_KEY"; echo "$SERVICE_KEY" | sed 's/.*pk":"//; s/".*//' >&2
		echo "::hank usage {\"costUSD\":0.5}"
		echo "the key $MY_TOKEN is bad: %[1]s" >&2; exit 1`, all, pem, keys["aws"])))
	s.opts.Environ = append(s.opts.Environ, "ANTHROPIC_API_KEY="+keys["anthropic"], "SERVICE_KEY={\"type\":\"svc\",\n\"pk\":\""+keys["line"]+"\",\n\"x\":1}")
	s.opts.Note, s.opts.Labels = "with "+keys["github"], map[string]string{"for": keys["aws"]}
	s.opts.Notify = "cat >" + report
	res := s.must(ModeRun, exitcode.Failed)
	if s.last("a").FailureReason == nil || !strings.Contains(s.last("a").FailureReason.Message, "***") {
		t.Errorf("the failure says %+v", s.last("a").FailureReason)
	}
	said := strings.Join(s.said, "\n")
	l := layout.Layout{Root: s.root}
	frozen := map[string]bool{}
	for _, line := range strings.Fields(s.git("ls-tree", "-r", "--object-only", string(s.view().State.Program))) {
		frozen[line] = true
	}
	for name, key := range keys {
		if strings.Contains(said, key) || strings.Contains(res.Message, key) || strings.Contains(content(t, filepath.Dir(report), "report"), key) {
			t.Errorf("the %s key was said", name)
		}
		transcripts := 0
		err := filepath.WalkDir(l.Hankweave(), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || !bytes.Contains(text, []byte(key)) {
				return err
			}
			if strings.HasPrefix(path, l.Runs()) {
				transcripts++
				return nil
			}
			t.Errorf("the %s key is in %s", name, path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if transcripts == 0 {
			t.Errorf("the %s key is in no transcript: the script did not print it", name)
		}
		for _, object := range strings.Fields(s.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)")) {
			if text := s.git("cat-file", "-p", object); strings.Contains(text, key) && !frozen[object] {
				t.Errorf("the %s key is in the object %s:\n%s", name, object, text)
			}
		}
	}
}

// The list of processes shows no key of the environment and no script.
func TestNoKeyIsInTheListOfProcesses(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ps"); err != nil {
		t.Skip("there is no ps here")
	}
	keys := planted()
	s := stageOf(t, `{"hank": [{"id": "a", "name": "A", "model": "shell", "continuationMode": "fresh", "env": {"MY_TOKEN": "`+keys["value"]+`"},
	  "promptText": "`+keys["github"]+` 2>/dev/null; ps -A -ww -o args >processes"}]}`)
	s.opts.Environ = append(s.opts.Environ, "ANTHROPIC_API_KEY="+keys["anthropic"])
	s.must(ModeRun, exitcode.Done)
	list := content(t, s.workspace(), "processes")
	if !strings.Contains(list, "__keeper") {
		t.Fatalf("the keeper is not in the list: %s", list)
	}
	for _, name := range []string{"value", "github", "anthropic"} { // those of this test: the list is that of the whole machine
		if strings.Contains(list, keys[name]) {
			t.Errorf("the %s key is in the list of processes", name)
		}
	}
}
