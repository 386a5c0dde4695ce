//go:build unix

package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hank/internal/programtest"
	"hank/internal/short"
	"hank/runtime/breaker"
	"hank/runtime/exitcode"
	"hank/runtime/usagelimit"
	"hank/state"
)

// provider stands for an agent with its provider. Its directory has a line in requests for
// each time that it was asked; as long as there is a file limit, it answers with it.
type provider struct{ dir string }

// agent stands in for Claude Code.
const agent = `#!/bin/sh
case "$*" in *--version*) echo "2.1.329 (Claude Code)"; exit 0;; esac
model= session=
while [ $# -gt 0 ]; do case $1 in --model) model=$2;; --resume) session=$2;; esac; shift; done
cat >/dev/null
echo "$model $session" >>$PROVIDER/requests
s=${session:-00000000-0000-4000-8000-000000000001}
echo "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$s\",\"model\":\"$model\"}"
if [ -e $PROVIDER/works ]; then
	echo half >>work
	echo "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"model\":\"$model\",\"content\":[{\"type\":\"text\",\"text\":\"I begin.\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":5}},\"session_id\":\"$s\"}"
fi
for says in limit-$model limit; do
	if [ -e $PROVIDER/$says ]; then
		echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,$(cat $PROVIDER/$says),\"session_id\":\"$s\",\"total_cost_usd\":0.25,\"usage\":{\"input_tokens\":10,\"output_tokens\":$(test -e $PROVIDER/works && echo 5 || echo 0)}}"
		exit 1
	fi
done
echo done >>work
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\",\"session_id\":\"$s\",\"total_cost_usd\":0.5,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}"
`

// aProvider has an address of its own, so that no other test learns from it.
func aProvider(t *testing.T) provider {
	t.Helper()
	p := provider{t.TempDir()}
	programtest.Write(t, filepath.Join(p.dir, "agent"), agent)
	return p
}

func (p provider) environ() []string {
	return []string{"PROVIDER=" + p.dir, "ANTHROPIC_API_KEY=not-a-real-key", "ANTHROPIC_BASE_URL=http://127.0.0.1:1" + p.dir,
		"CLAUDE_PATH_TO_CLAUDE_EXECUTABLE=" + filepath.Join(p.dir, "agent")}
}

// says lets the provider answer so; empty: it works again.
func (p provider) says(t *testing.T, file, text string) {
	t.Helper()
	if text == "" {
		if err := os.Remove(filepath.Join(p.dir, file)); err != nil {
			t.Error(err)
		}
		return
	}
	put(t, p.dir, file, text)
}

func (p provider) requests(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "requests"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// resets is the answer of a provider whose limit ends after some time.
func resets(after string) string {
	return `"api_error_status":429,"result":"You've hit your session limit · resets in ` + after + `"`
}

// stageAt prepares a run of one codon that asks a provider.
func stageAt(t *testing.T, p provider, more string) *stage {
	t.Helper()
	s := stageOf(t, fmt.Sprintf(`{"hank": [{"id": "a", "name": "a", "model": "sonnet", "continuationMode": "fresh", "promptText": "x"%s}]}`, more))
	s.opts.Environ = append(s.opts.Environ, p.environ()...)
	return s
}

// open is the breaker of a provider; nil: it is closed.
func (p provider) open() *breaker.Breaker {
	for _, b := range breaker.User().Open() {
		if strings.HasSuffix(b.BaseURL, p.dir) {
			return &b
		}
	}
	return nil
}

// untilItWaits begins a run, and closes the channel when it waits for its provider.
func (s *stage) untilItWaits(group *sync.WaitGroup, code exitcode.Code) <-chan struct{} {
	waits := make(chan struct{})
	once := sync.OnceFunc(func() { close(waits) })
	say := s.opts.Say
	s.opts.Say = func(line string) {
		if say(line); strings.Contains(line, "--now") {
			once()
		}
	}
	group.Go(func() {
		defer once()
		s.must(ModeRun, code)
	})
	return waits
}

// Of several runs one meets the limit, and one asks whether it is over: however many wait,
// the provider is asked twice. On a slow machine the limit may be over before the others
// begin; then the test has a longer one.
func TestALimitIsMetOnce(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	for seconds := 2; !metOnce(t, seconds); seconds *= 2 {
		if seconds > 100 {
			t.Fatal("the machine is too slow")
		}
	}
}

// metOnce is false where the others began too late.
func metOnce(t *testing.T, seconds int) bool {
	t.Helper()
	p := aProvider(t)
	p.says(t, "limit", resets(fmt.Sprint(seconds, " seconds")))
	first := stageAt(t, p, "")
	others := []*stage{stageAt(t, p, ""), stageAt(t, p, ""), stageAt(t, p, "")}
	var group sync.WaitGroup
	<-first.untilItWaits(&group, exitcode.Done)
	b := p.open()
	if b == nil || b.By.Execution != first.root || b.Class != "usage_limit" {
		t.Fatalf("%+v", b)
	}
	p.says(t, "limit", "")
	late := !time.Now().Before(b.Until)
	for _, s := range others {
		group.Go(func() { s.must(ModeRun, exitcode.Done) })
	}
	group.Wait()
	for _, s := range others {
		late = late || !s.view().State.Newest().Codon(0).EndTime.Before(b.Until)
	}
	if late {
		return false
	}
	if n := len(p.requests(t)); n != 5 { // the limit, and one for each codon
		t.Errorf("the provider was asked %d times: %q", n, p.requests(t))
	}
	for _, s := range others {
		c := s.view().State.Newest().Codon(0)
		if c.Interrupted != state.InterruptedByLimit || !usagelimit.IsForeseen(c.FailureReason) || c.ClaudePid != 0 || c.Cost() != 0 || !strings.Contains(c.FailureReason.Message, first.root) {
			t.Errorf("%+v %+v", c, c.FailureReason)
		}
		if n := s.noted("run.waiting"); n == 0 || n > s.noted("run.waited") { // a wait may be over before it is said
			t.Errorf("the wait is not in the events: %d, %d", n, s.noted("run.waited"))
		}
		s.fsck()
	}
	if p.open() != nil {
		t.Error("the breaker is still open")
	}
	return true
}

// While the provider goes on to refuse, it is asked once for each time that its limit is to
// be over, and not by every run.
func TestALimitThatStaysIsProbedByOne(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	p := aProvider(t)
	p.says(t, "limit", resets("1 second"))
	var group sync.WaitGroup
	began := time.Now()
	stages := []*stage{}
	for range 4 {
		stages = append(stages, stageAt(t, p, `, "maxUsageLimitWait": 9`))
	}
	<-stages[0].untilItWaits(&group, exitcode.Failed)
	for _, s := range stages[1:] {
		group.Go(func() { s.must(ModeRun, exitcode.Failed) })
	}
	group.Wait()
	// Each second has at most one that probes, however slow the machine is. In the end, where
	// nobody waits any more, each may ask for itself. If each met the limit itself, there would
	// be twice as many.
	if n, most := len(p.requests(t)), 1+int(time.Since(began).Seconds())+len(stages); n > most {
		t.Errorf("the provider was asked %d times, want at most %d", n, most)
	}
}

// Who would not wait asks the provider itself: no codon fails by what another run has met.
func TestWhatDoesNotWaitAsks(t *testing.T) {
	t.Parallel()
	p := aProvider(t)
	p.says(t, "limit", resets("2 hours"))
	stageAt(t, p, `, "onUsageLimit": "fail"`).must(ModeRun, exitcode.Failed)
	if p.open() == nil {
		t.Fatal("the breaker is closed")
	}
	for i, more := range []string{`, "onUsageLimit": "fail"`, `, "maxUsageLimitWait": 60`} {
		s := stageAt(t, p, more)
		s.must(ModeRun, exitcode.Failed)
		if c := s.last("a"); c.FailureReason.Rule == usagelimit.ForeseenRule || len(p.requests(t)) != i+2 {
			t.Errorf("%+v, asked %q", c.FailureReason, p.requests(t))
		}
	}
	p.says(t, "limit", "")
	s := stageAt(t, p, "")
	s.must(ModeRun, exitcode.Done, func(o *command) { o.Now = true })
	if p.open() != nil || len(s.records()) != 1 {
		t.Errorf("--now went not past it: %q", s.records())
	}
}

// Work that a limit has interrupted is continued also where the next attempt was not let
// through, in the same run and in the next.
func TestTheSessionOutlivesAnAttemptThatWasNotMade(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	p := aProvider(t)
	s := stageAt(t, p, "")
	p.says(t, "works", "yes")
	p.says(t, "limit", resets("1 second"))
	key := breaker.Holder{Execution: "/elsewhere", Run: "run-9", Codon: "z", Attempt: "other"}
	say, stopped := s.opts.Say, 0
	s.opts.Say = func(line string) {
		if say(line); strings.Contains(line, "--now") {
			if stopped++; stopped == 1 { // another run meets the limit meanwhile
				p.says(t, "limit", "")
				b := p.open()
				if b == nil {
					t.Error("the breaker is closed")
					return
				}
				until := state.At(time.Now().Add(4 * time.Second))
				a := breaker.Account{Store: breaker.User(), Key: b.Key, Who: key, Past: true}
				a.Enter()
				a.Ended(&state.FailureReason{Class: "usage_limit", Retriable: true, ResetsAt: &until})
			}
		}
	}
	s.must(ModeRun, exitcode.Done)
	if got, want := strings.Join(s.records(), " "), "a:failed a:failed a:completed"; got != want {
		t.Fatalf("the records are %s, want %s", got, want)
	}
	run := s.view().State.Newest()
	if c := run.Codon(1); c.FailureReason.Rule != usagelimit.ForeseenRule || !strings.Contains(c.FailureReason.Message, "run run-9 (codon z) of /elsewhere") {
		t.Errorf("%+v", c.FailureReason)
	}
	if run.Codon(2).ClaudeSessionID != run.Codon(0).ClaudeSessionID || run.Codon(2).PreviousSessionID == "" {
		t.Errorf("the session was not continued: %q", p.requests(t))
	}
	if got := content(t, s.workspace(), "work"); got != "half\nhalf\ndone\n" {
		t.Errorf("the work is %q", got)
	}
}
