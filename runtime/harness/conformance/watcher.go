package conformance

import (
	"testing"
	"unicode/utf8"

	"hank/runtime/harness"
	"hank/state"
)

// watcher holds observations and verdicts to what is true of all of them.
type watcher struct {
	t        testing.TB
	overcome int
	session  string
	acted    bool // something happened before the session was named
	anything bool // the lines may be of no agent, so that their order says nothing
	used     harness.Usage
}

func (s Subject) watcher(t testing.TB) *watcher { return &watcher{t: t, overcome: s.Overcome} }

func (w *watcher) see(seen []harness.Observation) {
	w.t.Helper()
	for _, o := range seen {
		switch o := o.(type) {
		case harness.SessionStarted:
			if o.ID == "" {
				w.t.Error("a session without an id began")
			}
			if w.session == "" && w.acted && !w.anything {
				w.t.Errorf("the session %s was named after something had happened in it", o.ID)
			}
			w.session = o.ID
		case harness.Message, harness.ToolUse, harness.ToolResult:
			w.acted = w.acted || w.session == ""
		case harness.Usage:
			w.grows(o)
			w.used = o
		case harness.Retrying:
			for _, f := range []*state.FailureReason{o.Refused, o.GivenUp} {
				if f != nil {
					w.reason(f)
				}
			}
		case nil:
			w.t.Error("an observation is nil")
		}
	}
}

// grows reports figures that fall, or are no figures.
func (w *watcher) grows(u harness.Usage) {
	w.t.Helper()
	before, now := w.used, u
	for _, n := range [][2]int64{
		{before.Tokens.Input, now.Tokens.Input}, {before.Tokens.Output, now.Tokens.Output},
		{before.Tokens.CacheCreation, now.Tokens.CacheCreation}, {before.Tokens.CacheRead, now.Tokens.CacheRead},
	} {
		if n[1] < 0 || n[1] < n[0] && !now.Final {
			w.t.Errorf("the use fell from %+v to %+v", before.Tokens, now.Tokens)
			break
		}
	}
	if now.Cost < 0 || now.Context < 0 || before.Priced && now.Priced && now.Cost < before.Cost && !now.Final {
		w.t.Errorf("the cost fell from %s to %s, or the context is %d", before.Cost, now.Cost, now.Context)
	}
}

func (w *watcher) end(v harness.Verdict, code int) {
	w.t.Helper()
	if v.Success != (v.Failure == nil) {
		w.t.Errorf("success is %v, and the failure %+v", v.Success, v.Failure)
	}
	if v.Failure != nil {
		w.reason(v.Failure)
	}
	if v.Success && (code != 0 && code != w.overcome || !v.ResultSeen) {
		w.t.Errorf("a success with exit status %d; the agent reported an end: %v", code, v.ResultSeen)
	}
	if w.session != "" && v.Session == "" {
		w.t.Errorf("the session %s was named, and is not in the verdict", w.session)
	}
	w.grows(v.Usage)
}

// reason holds the reason of a failure to what records keep.
func (w *watcher) reason(f *state.FailureReason) {
	w.t.Helper()
	if f.Type == "" || f.Class == "" || f.Rule == "" || f.Message == "" || len(f.Message) > harness.MaxMessage || !utf8.ValidString(f.Message) || f.RetryAfterMs < 0 {
		w.t.Errorf("the reason of a failure is incomplete, or too long (%d bytes): %+v", len(f.Message), f)
	}
}
