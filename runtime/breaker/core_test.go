package breaker

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hank/internal/proc"
)

var epoch = time.Date(2026, 11, 26, 14, 30, 0, 0, time.UTC)

func holder(name string, pid int) Holder {
	return Holder{Execution: "/x", Run: "run-1", Codon: "a", Attempt: name, Process: proc.Identity{PID: pid}}
}

func living(proc.Identity) bool { return false }

// says is what failed is told of the end of a limit.
func says(until time.Time, known bool) func(int) (time.Time, bool) {
	return func(int) (time.Time, bool) { return until, known }
}

func TestWhatOpensABreaker(t *testing.T) {
	t.Parallel()
	minute := epoch.Add(time.Minute)
	for name, c := range map[string]struct {
		class string
		known bool
		need  int // failures
	}{
		"a usage limit":                      {"usage_limit", false, 1},
		"too many requests, until when":      {"rate_limit", true, 1},
		"overloaded, until when":             {"overloaded", true, 1},
		"too many requests, again and again": {"rate_limit", false, enough},
		"overloaded, again and again":        {"overloaded", false, enough},
	} {
		b := Breaker{Key: Key{Provider: "p"}}
		for i := 1; i <= c.need; i++ {
			if b = b.failed(epoch, holder("a", 1), c.class, says(minute, c.known)); b.isOpen(epoch) != (i == c.need) {
				t.Errorf("%s: after %d failures open: %v", name, i, b.isOpen(epoch))
			}
		}
		if _, a := b.admit(epoch.Add(time.Second), holder("b", 2), living); !a.Refused || !a.Until.Equal(minute) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	b := Breaker{}
	for i := range 2 * enough { // too far from each other
		b = b.failed(epoch.Add(time.Duration(i)*(apart+time.Minute)), holder("a", 1), "overloaded", says(epoch.Add(1000*time.Hour), false))
	}
	if b.isOpen(b.Last) {
		t.Error("failures of different hours have opened it")
	}
}

func TestOneProbeDecides(t *testing.T) {
	t.Parallel()
	a, b, c := holder("a", 1), holder("b", 2), holder("c", 3)
	open := Breaker{}.failed(epoch, a, "usage_limit", says(epoch.Add(time.Hour), true))
	later := epoch.Add(time.Hour)
	probed, first := open.admit(later, b, living)
	if first.Refused || !first.Probe {
		t.Fatalf("%+v", first)
	}
	if _, second := probed.admit(later, c, living); !second.Refused || second.Probing == nil || second.Probing.Attempt != "b" || !second.Until.Equal(later.Add(asks)) {
		t.Errorf("%+v", second)
	}
	if closed := probed.answered(later.Add(time.Second), later); closed.isOpen(later.Add(time.Second)) || !closed.isEmpty() {
		t.Errorf("it was answered: %+v", closed)
	}
	if same := probed.answered(later, epoch.Add(-time.Minute)); !same.isOpen(later) {
		t.Error("an attempt from before the limit has closed it")
	}
	again := probed.failed(later.Add(time.Second), b, "usage_limit", func(n int) (time.Time, bool) {
		if n != 1 {
			t.Errorf("it was opened %d times", n)
		}
		return later.Add(2 * time.Hour), false
	})
	if _, next := again.admit(later.Add(time.Minute), c, living); !next.Refused || next.Probing != nil || !next.Until.Equal(later.Add(2*time.Hour)) {
		t.Errorf("%+v", next)
	}
	if _, next := probed.left(b).admit(later, c, living); next.Refused || !next.Probe {
		t.Errorf("the probe was given back: %+v", next)
	}
	if _, next := probed.admit(later, c, func(id proc.Identity) bool { return id.PID == 2 }); next.Refused || !next.Probe {
		t.Errorf("the process of the probe is gone: %+v", next)
	}
	if _, next := probed.admit(later.Add(probeTime), c, living); next.Refused || !next.Probe {
		t.Errorf("the probe takes too long: %+v", next)
	}
}

// However attempts come, fail, are answered, are killed and clocks go: never are there two
// probes at once, and a breaker that nobody touches is not open for ever.
func TestABreakerUnderAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now, b := epoch, Breaker{Key: Key{Provider: "p"}}
		type attempt struct {
			Holder
			entered time.Time
			probes  bool
		}
		running, dead, n := []attempt{}, map[int]bool{}, 0
		isDead := func(id proc.Identity) bool { return dead[id.PID] }
		probing := func() (all []string) {
			for _, a := range running {
				if a.probes && now.Before(a.entered.Add(probeTime)) {
					all = append(all, a.Attempt)
				}
			}
			return all
		}
		take := func(t *rapid.T) attempt {
			if len(running) == 0 {
				t.Skip("nobody asks")
			}
			i := rapid.IntRange(0, len(running)-1).Draw(t, "who")
			a := running[i]
			running = append(running[:i:i], running[i+1:]...)
			return a
		}
		decided := func(before Breaker) { // from here on nobody is the probe of what was before
			if !b.Since.Equal(before.Since) {
				for i := range running {
					running[i].probes = false
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				n++
				a := attempt{Holder: holder(string(rune('a'+n%26))+strings.Repeat("x", n/26), n), entered: now}
				next, answer := b.admit(now, a.Holder, isDead)
				if b = next; answer.Refused {
					if !answer.Until.After(now) || answer.Until.After(now.Add(longest)) {
						t.Fatalf("it is to wait from %s until %s", now, answer.Until)
					}
					return
				}
				a.probes = answer.Probe
				running = append(running, a)
			},
			"fail": func(t *rapid.T) {
				a, in := take(t), time.Duration(rapid.Int64Range(0, int64(100*24*time.Hour)).Draw(t, "until"))
				defer decided(b)
				b = b.failed(now, a.Holder, rapid.SampledFrom([]string{"usage_limit", "rate_limit", "overloaded"}).Draw(t, "class"), says(now.Add(in), rapid.Bool().Draw(t, "known")))
			},
			"answer": func(t *rapid.T) {
				a := take(t)
				defer decided(b)
				b = b.answered(now, a.entered)
			},
			"leave": func(t *rapid.T) { b = b.left(take(t).Holder) },
			"kill":  func(t *rapid.T) { dead[take(t).Process.PID] = true },
			"sleep": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "for")))
			},
			"": func(t *rapid.T) {
				if p := probing(); len(p) > 1 {
					t.Fatalf("%v probe at once", p)
				}
				if b.isOpen(now.Add(longest + forgotten)) {
					t.Fatalf("it is open for ever: %+v", b)
				}
			},
		})
	})
}
