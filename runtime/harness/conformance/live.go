package conformance

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
	"hank/runtime/harness/transcript"
)

// start runs the agent for a request, and returns what a transcript has of it.
func (s Subject) start(t *testing.T, req harness.Request, started func(context.Context, harnesstest.Process)) (harnesstest.Played, recording) {
	t.Helper()
	req.Agent = s.Harness.Check(t.Context(), req.Environ)
	if req.Agent.Problem != "" {
		t.Fatal(req.Agent.Problem)
	}
	c, err := s.Harness.Command(req)
	if err != nil {
		t.Fatal(err)
	}
	played := harnesstest.Run(t, s.Harness, req, c, started)
	r := recording{name: "live"}
	for e, err := range transcript.Read(bytes.NewReader(played.Transcript)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Stream == transcript.StreamStart:
			r.start = e.Start
		case e.Stream == transcript.StreamExit:
			r.exit = e.Exit
		default:
			r.lines = append(r.lines, line{e.Stream, slices.Clone(e.Line)})
		}
	}
	return played, r
}

// live are the promises of the agent itself.
func (s Subject) live(t *testing.T) {
	if s.Live == nil {
		t.Skip("there are no prompts")
	}
	req := s.request(t, s.Environ)
	req.Environ = append(req.Environ, s.Live.Environ...)
	req.Prompt, req.SystemPrompt = s.Live.Good, ""
	first, r := s.start(t, req, nil)
	t.Run("a good turn is a success in a session", func(t *testing.T) {
		if v := first.Verdict; !v.Success || v.Session == "" {
			t.Fatalf("%+v %+v\n%s", v, v.Failure, first.Transcript)
		}
		w := s.watcher(t)
		w.see(first.Seen)
		w.end(first.Verdict, first.Exit.Code)
	})
	t.Run("its transcript says the same", func(t *testing.T) {
		if err := same(s.play(r, r.lines, r.exit, s.watcher(t), nil), first.Verdict); err != nil {
			t.Error(err)
		}
	})
	t.Run("every promise of recordings", func(t *testing.T) { s.recording(t, r, first.Verdict, 1) })
	if !s.Plays {
		t.Run("a session is continued", func(t *testing.T) {
			again := req
			again.Session, again.Attempt = first.Verdict.Session, "conformance/2"
			if v, _ := s.start(t, again, nil); v.Verdict.Session != again.Session || !v.Verdict.Success {
				t.Errorf("%+v %+v\n%s", v.Verdict, v.Verdict.Failure, v.Transcript)
			}
		})
		t.Run("a session that is not there is no success in another", func(t *testing.T) {
			again := req
			again.Session, again.Attempt = "conformance-session", "conformance/3"
			again.Agent = s.Harness.Check(t.Context(), again.Environ)
			if _, err := s.Harness.Command(again); err != nil {
				return
			}
			if v, _ := s.start(t, again, nil); v.Verdict.Success && v.Verdict.Session != again.Session {
				t.Errorf("%+v\n%s", v.Verdict, v.Transcript)
			}
		})
	}
	t.Run("the stop signal ends it", func(t *testing.T) {
		if s.Live.Long == "" {
			t.Skip("there is no long prompt")
		}
		long := req
		long.Prompt, long.Attempt = s.Live.Long, "conformance/4"
		c, err := s.Harness.Command(long)
		if err != nil {
			t.Fatal(err)
		}
		v, _ := s.start(t, long, func(ctx context.Context, p harnesstest.Process) {
			if s.Live.Started != nil {
				if err := s.Live.Started(ctx, long); err != nil {
					t.Error(err)
				}
			}
			if err := p.Signal(c.StopSignal); err != nil {
				t.Error(err)
			}
		})
		if v.Verdict.Success {
			t.Errorf("a turn that was stopped is a success: %+v\n%s", v.Verdict, v.Transcript)
		}
	})
}
