//go:build unix

package breaker

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hank/internal/proc"
	"hank/runtime/internal/testkit"
	"hank/runtime/usagelimit"
	"hank/state"
)

func store(t *testing.T) (*Store, *time.Time) {
	now := time.Now()
	return &Store{dir: filepath.Join(t.TempDir(), "breakers"), now: func() time.Time { return now }}, &now
}

var key = Key{Provider: "anthropic", Credential: Digest("secret-key")}

func self(t *testing.T, attempt string) Holder {
	t.Helper()
	id, err := proc.Self()
	testkit.Must(t, err)
	return Holder{Execution: "/x", Run: "run-1", Codon: "a", Attempt: attempt, Process: id}
}

// limited is a failure with a stated end.
func limited(class string, after time.Duration) *state.FailureReason {
	return &state.FailureReason{Type: state.FailRateLimit, Retriable: true, Class: class, RetryAfterMs: after.Milliseconds(), Message: "secret words"}
}

func TestRunsLearnFromEachOther(t *testing.T) {
	t.Parallel()
	s, now := store(t)
	account := func(name string) *Account { return &Account{Store: s, Key: key, Who: self(t, name)} }
	first := account("1")
	if f := first.Enter(); f != nil {
		t.Fatalf("%+v", f)
	}
	first.Ended(limited("usage_limit", time.Hour))
	second := account("2")
	f := second.Enter()
	if f == nil || f.Class != "usage_limit" || f.Rule != usagelimit.ForeseenRule || !f.Retriable || f.ResetsAt.Sub(*now) < time.Hour || !strings.Contains(f.Message, "run run-1 (codon a) of /x met the usage limit of anthropic at 20") {
		t.Fatalf("%+v", f)
	}
	second.Ended(f) // what was foreseen is no failure more
	if b := s.Open(); len(b) != 1 || b[0].Failures != 1 {
		t.Errorf("%+v", b)
	}
	text, err := os.ReadFile(s.path(key))
	testkit.Must(t, err)
	if strings.Contains(string(text), "secret") {
		t.Errorf("the file has %s", text)
	}
	other := &Account{Store: s, Key: Key{Provider: "anthropic", Credential: Digest("another")}, Who: self(t, "3")}
	past := &Account{Store: s, Key: key, Who: self(t, "4"), Past: true}
	if other.Enter() != nil || past.Enter() != nil {
		t.Error("another credential, and who goes past it, are let through")
	}
	*now = now.Add(2 * time.Hour)
	probe, waits := account("5"), account("6")
	if f := probe.Enter(); f != nil {
		t.Fatalf("%+v", f)
	}
	if f := waits.Enter(); f == nil || f.Rule != usagelimit.ProbedRule || !strings.Contains(f.Message, "run run-1 (codon a) of /x tries whether anthropic answers again") {
		t.Errorf("%+v", f)
	}
	probe.Answered()
	if f := account("7").Enter(); f != nil || waits.IsOpen() {
		t.Errorf("%+v", f)
	}
	if _, err := os.Lstat(s.path(key)); err == nil {
		t.Error("a closed breaker has a file")
	}
	probe.Ended(limited("overloaded", time.Minute)) // answered first, and then not
	if !waits.IsOpen() {
		t.Error("a limit after an answer counts as well")
	}
}

// Of many that ask at the same moment, one is let through.
func TestOneOfManyProbes(t *testing.T) {
	t.Parallel()
	s, now := store(t)
	s.failed(key, self(t, "0"), "usage_limit", says(now.Add(time.Second), true))
	*now = now.Add(time.Minute)
	var through, group = make(chan string, 20), sync.WaitGroup{}
	for i := range cap(through) {
		group.Go(func() {
			who := self(t, string(rune('a'+i)))
			if _, a := s.admit(key, who); !a.Refused {
				through <- who.Attempt
			}
		})
	}
	group.Wait()
	if len(through) != 1 {
		t.Errorf("%d were let through", len(through))
	}
}

// What cannot be understood is set aside, and what cannot be read costs nothing.
func TestADamagedBreakerCostsNothing(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"no JSON":        func(path string) error { return os.WriteFile(path, []byte("{\"provider"), 0o600) },
		"another format": func(path string) error { return os.WriteFile(path, []byte("[1]"), 0o600) },
		"another key": func(path string) error {
			return os.WriteFile(path, []byte(`{"provider": "openai", "credential": "", "until": "2999-01-01T00:00:00Z"}`), 0o600)
		},
		"empty":       func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"a FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		s, now := store(t)
		testkit.Must(t, os.MkdirAll(s.dir, 0o700))
		testkit.Must(t, damage(s.path(key)))
		if _, a := s.admit(key, self(t, "1")); a.Refused {
			t.Errorf("%s: %+v", name, a)
		}
		if s.isOpen(key) {
			t.Errorf("%s: open", name)
		}
		s.failed(key, self(t, "1"), "usage_limit", says(now.Add(time.Hour), true))
		if !s.isOpen(key) {
			t.Errorf("%s: nothing is remembered any more", name)
		}
		if aside, _ := filepath.Glob(filepath.Join(s.dir, "*.unreadable")); len(aside) != 1 {
			t.Errorf("%s: %v is set aside", name, aside)
		}
	}
	nowhere := &Store{dir: filepath.Join(t.TempDir(), "file", "breakers"), now: time.Now}
	testkit.Must(t, os.WriteFile(filepath.Dir(nowhere.dir), nil, 0o600))
	for _, s := range []*Store{nowhere, {now: time.Now}} {
		s.failed(key, self(t, "1"), "usage_limit", says(time.Now().Add(time.Hour), true))
		if _, a := s.admit(key, self(t, "2")); a.Refused || s.isOpen(key) || s.Open() != nil {
			t.Errorf("%+v", a)
		}
	}
}

// The probe of a process that is gone is none any more.
func TestTheProbeOfADeadRun(t *testing.T) {
	t.Parallel()
	s, now := store(t)
	s.failed(key, self(t, "0"), "usage_limit", says(now.Add(time.Second), true))
	*now = now.Add(time.Minute)
	gone := self(t, "1")
	gone.Process.StartTicks++ // its number was given to another one
	if _, a := s.admit(key, gone); !a.Probe {
		t.Fatalf("%+v", a)
	}
	if b := s.Open(); len(b) != 1 || b[0].Probe != nil {
		t.Errorf("%+v", b)
	}
	if _, a := s.admit(key, self(t, "2")); !a.Probe {
		t.Errorf("%+v", a)
	}
	if b := s.Open(); len(b) != 1 || b[0].Probe == nil || b[0].Probe.By.Attempt != "2" {
		t.Errorf("%+v", b)
	}
}

// Files of breakers that nobody asks about any more do not stay.
func TestOldBreakersAreForgotten(t *testing.T) {
	t.Parallel()
	s, now := store(t)
	s.failed(Key{Provider: "old"}, self(t, "0"), "usage_limit", says(now.Add(time.Hour), true))
	*now = now.Add(30 * time.Hour)
	s.failed(key, self(t, "1"), "usage_limit", says(now.Add(time.Hour), true))
	if names, _ := filepath.Glob(filepath.Join(s.dir, "*.json")); len(names) != 1 {
		t.Errorf("there are %v", names)
	}
}
