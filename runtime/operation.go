package runtime

import (
	"time"

	"hank/plan/config"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/runtime/operation"
	"hank/runtime/request"
	"hank/runtime/startpoint"
	"hank/runtime/verdict"
	"hank/state"
)

// arguments are what tells a command with an operation ID from another one: what it is
// to do, and what was decided in advance. How it is shown, and who is told, is not.
type arguments struct {
	Hank, Data, Workspace, Output, Replay string            `json:",omitzero"`
	Overwrite                             bool              `json:",omitzero"`
	Limits                                LimitChange       `json:",omitzero"`
	Settings                              config.Settings   `json:",omitzero"`
	Codon                                 state.CodonID     `json:",omitzero"`
	FromRigSetup                          bool              `json:",omitzero"`
	StopAfter                             int               `json:",omitzero"`
	From                                  string            `json:",omitzero"`
	Until                                 state.CodonID     `json:",omitzero"`
	Only                                  bool              `json:",omitzero"`
	Note                                  string            `json:",omitzero"`
	Labels                                map[string]string `json:",omitempty"`
	Answers                               Answers           `json:",omitzero"`
}

// operationOf is the operation that a command was given an ID for; nil: it was given
// none.
func operationOf(r request.Request, a request.Answers) (*state.Operation, error) {
	a.Yes, a.BreakLock = false, ""
	return operation.Of(r.OpID, string(r.Mode), arguments{
		Hank: request.Absolute(r.Hank), Data: request.Absolute(r.Data), Workspace: request.Absolute(r.Workspace), Output: request.Absolute(r.Output), Replay: r.Replay, Overwrite: r.Overwrite,
		Limits: r.Limits, Settings: r.Layers.Flags, Codon: r.Codon, FromRigSetup: r.FromRigSetup, StopAfter: r.StopAfter, From: r.From, Until: r.Until, Only: r.Only, Note: r.Note, Labels: r.Labels, Answers: a,
	}, time.Now())
}

// repeated is the answer of an operation that is over, as a reader finds it; nil: the
// command is to be carried out. It needs no lock.
func repeated(root string, r request.Request) (*Result, error) {
	if r.Operation == nil || !layout.Exists(root) {
		return nil, nil
	}
	v, err := recovery.Read(root)
	if err != nil {
		return nil, nil // the opening says what is wrong
	}
	standing, known, err := operation.Look(v.State, r.Operation)
	if err != nil || standing != operation.Answered {
		return nil, err
	}
	return repeat(known)
}

func repeat(known *state.Operation) (*Result, error) {
	res := &Result{}
	err := operation.Repeat(known, res)
	res.Repeats = known
	return res, err
}

// rejoin looks at the operation in the execution that is held. One that has been
// interrupted goes on where it was: nothing is moved again.
func (d *driver) rejoin() (*Result, error) {
	standing, known, err := operation.Look(d.x.State(), d.request.Operation)
	switch {
	case err != nil:
		return nil, err
	case standing == operation.Answered:
		return repeat(known)
	case standing.Begun():
		d.say("operation %s was interrupted, and is continued", known.ID)
		d.request.From = ""
		for _, r := range d.x.State().Runs {
			for i := range r.Len() {
				if r.Operation != nil && r.Operation.ID == known.ID && r.Codon(i).Settled() {
					d.finished++
				}
			}
		}
		d.stopAfter()
		if d.request.Mode == ModeRetry {
			d.request.Mode, d.request.Codon, d.request.FromRigSetup = ModeRun, "", false
		}
	}
	return nil, nil
}

// moveOperation is the operation of a move that the command itself asks for.
func (d *driver) moveOperation(st startpoint.Start) *state.Operation {
	if !st.Branch && d.request.Mode != ModeRetry {
		return nil
	}
	return d.request.Operation
}

// answered is the record of the answer that the command gives when the run has ended
// so. It is recorded together with the end.
func (d *driver) answered(end state.Transition, out verdict.Outcome, err error) ([]state.Transition, error) {
	if d.request.Operation == nil {
		return nil, nil
	}
	s, applyErr := state.Apply(d.x.State(), d.x.State().Seq+1, end)
	if applyErr != nil {
		return nil, nil // Record says so
	}
	t, err := operation.Answer(*d.request.Operation, d.codeOf(out, err), d.resultAt(s, out, err))
	return []state.Transition{t}, err
}

func (d *driver) codeOf(out verdict.Outcome, err error) exitcode.Code {
	return d.resultAt(d.x.State(), out, err).Code
}

// keepAnswer records the answer of an operation where it is not what was recorded with
// the end of the run, or where there was no run.
func (d *driver) keepAnswer(res *Result, err error) error {
	o := d.request.Operation
	if o == nil || d.x.Broken != nil || d.run == "" && (err != nil || res.EndReason == state.EndHeld) { // nothing was done: the ID is not used
		return nil
	}
	t, answerErr := operation.Answer(*o, res.Code, res)
	if answerErr != nil {
		return answerErr
	}
	if known, _ := d.x.State().Operation(o.ID); known != nil && known.Answered && known.ExitCode == t.Operation.ExitCode && known.Answer == t.Operation.Answer {
		return nil
	}
	return d.x.Record(t)
}

// dropped keeps the answer of a request that has come too late: what it was about has
// ended, and it is not to be about something else when it is repeated.
func (d *driver) dropped(r codon.Request) {
	if r.Signal != codon.SkipCodon && d.stop == nil { // one that is queued is told of when it is taken
		d.stopping.Store(nil)
	}
	if r.Signal == codon.SkipCodon {
		d.say("nothing was skipped: what the request was for had ended")
	}
	if r.Operation != nil {
		_ = d.x.Record(state.OperationAnswered{Operation: *r.Operation}) // best effort: nothing was done
	}
}

// stopAfter stops the run where it has run as many codons as it was to.
func (d *driver) stopAfter() {
	if d.request.StopAfter > 0 && d.finished >= d.request.StopAfter && d.stop == nil {
		d.stop = &codon.Request{Signal: codon.StopAfterCodon, Reason: state.EndStopped, Code: exitcode.Stopped}
	}
}
