package runtime

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestANotificationGetsTheResultEvenWhenTheRunWasCancelled(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "told")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var said []string
	notifyEnd(ctx, Options{Notify: `cat >"$OUT"`, Environ: append(os.Environ(), "OUT="+out), Say: func(line string) { said = append(said, line) }},
		&Result{Schema: 1, Code: ExitInterrupted, Message: "stopped \"here\"\n"})
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatalf("%v, said %q", err, said)
	}
	var got Result
	if err := json.Unmarshal(text, &got); err != nil || got.Code != ExitInterrupted || got.Message != "stopped \"here\"\n" {
		t.Errorf("%s: %v", text, err)
	}
	if len(said) > 0 {
		t.Errorf("said %q", said)
	}
}

func TestANotificationThatFailsIsOneShortWarning(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"echo no such luck >&2; exit 3": "it ended with code 3: no such luck",
		"kill -9 $$":                    "it was ended by SIGKILL",
		"/not/there":                    "it ended with code 127",
		"head -c 50000000 /dev/zero | tr '\\0' x; echo last; exit 1": "last",
	} {
		var said []string
		notifyEnd(context.Background(), Options{Notify: command, Say: func(line string) { said = append(said, line) }}, &Result{})
		if len(said) != 1 || !strings.Contains(said[0], want) || !strings.HasPrefix(said[0], "warning: ") || len(said[0]) > 20_000 {
			t.Errorf("%s: %.300q", command, said)
		}
	}
}

func TestWithoutACommandOrAResultNothingIsStarted(t *testing.T) {
	t.Parallel()
	say := func(line string) { t.Error(line) }
	notifyEnd(context.Background(), Options{Say: say}, &Result{})
	notifyEnd(context.Background(), Options{Notify: "exit 1", Say: say}, nil)
}
