package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/advice"
	"hank/internal/proc"
	"hank/internal/secret"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime"
	"hank/runtime/control"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/history"
	"hank/runtime/live"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/runtime/web/caller"
	"hank/runtime/web/page"
	"hank/state"
)

// asked is what a person wants done, and what they saw when they asked.
type asked struct {
	Lineage  string `json:"lineage"`
	Seq      uint64 `json:"seq"`      // the last event that they saw
	Standing string `json:"standing"` // see page.Standing
	// Gate and Checkpoint: what is answered, and what is judged.
	Gate       string    `json:"gate"`
	Checkpoint state.SHA `json:"checkpoint"`
	Reply      string    `json:"reply"`
	// Target is where a rollback goes, and Digest what its preview said.
	Target state.SHA `json:"target"`
	Digest string    `json:"digest"`

	seen control.Target // where the person saw the run
}

// staleError says that somebody acts on what is not so any more.
type staleError struct{ why string }

func (e *staleError) Error() string { return e.why + "; look at the page again" }

// mostAsked is how long a request to act may be, in bytes.
const mostAsked = 256 << 10

// act carries out what a person asks for.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	// Who goes away meanwhile stops nothing half way.
	said, status, a := s.carryOut(context.WithoutCancel(r.Context()), r)
	s.audit.write(s.entry(r, a, status, said))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintln(w, said)
}

func (s *Server) carryOut(ctx context.Context, r *http.Request) (said string, status int, a asked) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" {
		return "an act is an object of JSON", http.StatusUnsupportedMediaType, a
	}
	if err := json.UnmarshalRead(http.MaxBytesReader(nil, r.Body, mostAsked), &a, json.RejectUnknownMembers(true)); err != nil {
		return "the request cannot be read", http.StatusBadRequest, a
	}
	root, err := page.Find(r.PathValue("id"))
	if err == nil {
		said, err = s.do(ctx, root, r.PathValue("act"), a)
	}
	option := report.OptionFor(root)
	if err != nil {
		return secret.Text(advice.Render(verdict.Sentence(err), option)), statusOf(err), a
	}
	return advice.Render(said, option), http.StatusOK, a
}

// statusOf is the status of HTTP for an error.
func statusOf(err error) int {
	var stale *staleError
	switch code := verdict.CodeOf(err); {
	case errors.As(err, &stale), errors.Is(err, history.ErrDeclined):
		return http.StatusConflict
	case errors.Is(err, page.ErrNoPlace):
		return http.StatusNotFound
	case code == exitcode.Usage:
		return http.StatusBadRequest
	case code == exitcode.Decision:
		return http.StatusConflict
	case code == exitcode.Held:
		return http.StatusLocked
	}
	return http.StatusInternalServerError
}

// acts are what can be asked for.
var acts = map[string]func(ctx context.Context, root string, a asked) (string, error){
	"approve":          answer(state.GateApproved),
	"reject":           answer(state.GateRejected),
	"skip":             skip,
	"stop":             tell("stop", "stopping the run"),
	"stop-after-codon": tell("stop-after-codon", "the run will stop after the current codon"),
	"rollback":         rollback,
}

// do carries out an act on what the person saw.
func (s *Server) do(ctx context.Context, root, name string, a asked) (string, error) {
	act, known := acts[name]
	if !known {
		return "", &exitcode.UsageError{Why: fmt.Sprintf("unknown act %q", name)}
	}
	v, err := recovery.Read(root)
	if err != nil {
		return "", err
	}
	if err := current(v, a); err != nil {
		return "", err
	}
	a.seen = control.TargetOf(v.State)
	return act(ctx, root, a)
}

// current returns a *staleError where the person has seen another execution, or has not seen
// what has happened since.
func current(v *recovery.View, a asked) error {
	switch {
	case a.Lineage == "" || a.Lineage != v.State.Lineage:
		return &staleError{"the directory holds another execution now"}
	case a.Seq > v.State.Seq:
		return &staleError{"the execution has lost events that you saw"}
	case a.Standing != page.Standing(v):
		return &staleError{fmt.Sprintf("the execution has moved on since event %d", a.Seq)}
	}
	return nil
}

// answer answers a gate, as hank approve and hank reject do.
func answer(status state.GateStatus) func(context.Context, string, asked) (string, error) {
	return func(ctx context.Context, root string, a asked) (string, error) {
		if a.Checkpoint == "" {
			return "", &exitcode.UsageError{Why: "an answer names the checkpoint that was judged"}
		}
		done, err := runtime.AnswerGate(ctx, root, gate.Answer{Gate: a.Gate, Status: status, Reply: a.Reply, Checkpoint: string(a.Checkpoint), By: state.StartedBy{Argv: []string{"hank", "web"}}}, "")
		if err != nil {
			return "", err
		}
		said := gate.Sentence(done.Gate)
		switch {
		case done.Unchanged:
			return said + " before; nothing has changed", nil
		case done.Live:
			return said + "; the run continues", nil
		case status == state.GateRejected:
			return said + "; with `hank run` its codon fails, and onFailure applies", nil
		}
		return said + "; to continue: `hank run`", nil
	}
}

// tell sends a command to the live run, as hank stop does, for the attempt at which the person
// saw the run, and for nothing that has begun since.
func tell(command, said string) func(context.Context, string, asked) (string, error) {
	return func(ctx context.Context, root string, a asked) (string, error) {
		answer, err := live.Act(ctx, root, command, live.Arguments{Target: a.seen})
		return said, told(answer, err)
	}
}

// skip is tell of a skip: there is nothing to skip between two codons.
func skip(ctx context.Context, root string, a asked) (string, error) {
	if a.seen.Codon == "" {
		return "", &staleError{"no codon is running"}
	}
	return tell("skip", fmt.Sprintf("the run was asked to skip codon %s", a.seen.Codon))(ctx, root, a)
}

// told is the error of what a run was told.
func told(answer control.Response, err error) error {
	switch {
	case errors.Is(err, control.ErrNotRunning):
		return &staleError{"no run is in progress"}
	case err == nil && answer.Stale:
		return &staleError{answer.Error}
	}
	if err == nil && !answer.OK {
		err = &exitcode.UsageError{Why: "request rejected by the run: " + answer.Error}
	}
	return err
}

// rollback goes back, as hank rollback does, if that would do what the preview said.
func rollback(ctx context.Context, root string, a asked) (string, error) {
	if a.Target == "" || a.Digest == "" {
		return "", &exitcode.UsageError{Why: "a rollback names its checkpoint, and the preview that was seen"}
	}
	differs := false
	done, err := history.Rollback(ctx, history.RollbackOptions{Execution: root, To: "sha:" + string(a.Target), Confirm: func(p history.Preview) bool {
		differs = page.Digest(&p) != a.Digest
		return !differs
	}})
	if differs {
		return "", &staleError{"a rollback would now do something else than the preview says"}
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("rolled back to %s; the previous contents are in checkpoint %s; to undo: `hank rollback --undo`", report.ShortNames(done.Target.String()), report.Short(done.Safety)), nil
}

// mayAct returns why the process that sends a request to act may not: it is unknown, another
// user's, or one that a codon has started.
func (s *Server) mayAct(r *http.Request) error {
	uid, pids, err := callersOf(r)
	if err != nil {
		return fmt.Errorf("%w, so it may not act; on this system: hank web --act --listen unix:PATH", err)
	}
	return mayActAs(uid, pids, r.URL.Path)
}

// mayActAs returns why processes of a user may not act on what a path names.
func mayActAs(uid int, pids []int, path string) error {
	if uid != os.Getuid() {
		return fmt.Errorf("user %d may not act", uid)
	}
	target, lineage := "/", ""
	if id, _, found := strings.Cut(strings.TrimPrefix(path, "/a/"), "/"); found {
		if root, err := page.Find(id); err == nil {
			meta, _ := layout.ReadMeta(root) // without one nothing is its own
			target, lineage = root, meta.Lineage
		}
	}
	for _, pid := range pids {
		if pid == 0 { // outside of this PID namespace: below no keeper of it
			continue
		}
		if err := proc.MayAct(pid, target, lineage); err != nil {
			return err
		}
	}
	return nil
}

// callersOf are the processes that have sent a request, and their user.
func callersOf(r *http.Request) (uid int, pids []int, err error) {
	c, ok := r.Context().Value(connection{}).(net.Conn)
	if !ok {
		return -1, nil, caller.ErrUnknown
	}
	return caller.Of(c)
}

// entry is what there is to write down about a request.
func (s *Server) entry(r *http.Request, a asked, status int, said string) entry {
	e := entry{Schema: 1, Time: time.Now().UTC(), Via: s.listener.Addr().Network(), Remote: r.RemoteAddr, Lineage: a.Lineage, Checkpoint: a.Checkpoint, Seq: a.Seq, Status: status, Said: secret.Text(said), PIDs: []int{}}
	if a.Target != "" {
		e.Checkpoint = a.Target
	}
	uid, pids, err := callersOf(r)
	if e.UID = uid; err == nil {
		e.PIDs = pids
	}
	rest := strings.TrimPrefix(r.URL.Path, "/a/")
	id, act, _ := strings.Cut(rest, "/")
	e.Act = act
	if root, err := page.Find(id); err == nil {
		e.Execution = root
	}
	return e
}

// refused writes down a request to act that the guard has refused.
func (s *Server) refused(r *http.Request, status int, why string) {
	s.audit.write(s.entry(r, asked{}, status, why))
}
