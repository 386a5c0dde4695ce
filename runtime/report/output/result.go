package output

import (
	"hank/runtime"
	"hank/runtime/exitcode"
	"hank/runtime/forecast"
	"hank/runtime/report"
	"hank/runtime/verdict"
	"hank/state"
)

// Result is what hank run, resume and retry print when they are over.
type Result struct {
	*runtime.Result
	RunStatus     *state.RunStatus `json:"runStatus"`
	NextCommand   *string          `json:"nextCommand"`
	NextAdvice    *string          `json:"nextAdvice"`
	FinishCommand *string          `json:"finishCommand"`
	Hold          *Hold            `json:"hold,omitempty"`
	Error         *Problem         `json:"error"`
}

// ResultOf is a result as it is printed.
func ResultOf(r *runtime.Result) *Result {
	out := &Result{Result: r, RunStatus: null(r.Status), FinishCommand: null(r.Finish), Hold: holdOf(r.Hold),
		Error: atExit(r.Code, string(r.EndReason), r.Message)}
	personal := r.Hold != nil || verdict.Personal(r.Next, r.NextFirst != "" || verdict.NeedsBudget(r.EndReason))
	if out.NextAdvice = null(r.Next); r.Next != "" {
		out.NextAdvice = null(r.Next + report.Before(r.NextFirst))
	}
	if !personal {
		out.NextCommand = null(r.Next)
	}
	if out.Error != nil {
		out.Error.NextCommand = out.NextCommand
		out.Error.explain(r.Err, r.Option)
	}
	return out
}

// ResultLine ends a stream of hank run --progress json.
type ResultLine struct {
	Schema int     `json:"schema"`
	Type   string  `json:"type"` // result
	Data   *Result `json:"data"`
}

// Detached is what hank run prints with --detach.
type Detached struct {
	Schema    int           `json:"schema"`
	Execution string        `json:"execution"`
	PID       *int          `json:"pid"`      // of the run in the background; null: it is over
	LogPath   *string       `json:"logPath"`  // its output; null: it has begun nothing, and the file is gone
	ExitCode  exitcode.Code `json:"exitCode"` // of this command
	Error     *Problem      `json:"error"`    // why the run has ended early
}

// DetachedOf is a run in the background as it is printed.
func DetachedOf(execution, log string, pid int) *Detached {
	return &Detached{Schema: 1, Execution: execution, PID: &pid, LogPath: &log}
}

// Ended says that the run is over. why is what it printed of its error; nil: nothing.
func (d *Detached) Ended(code exitcode.Code, why *Problem) {
	if why == nil || why.ExitCode != code {
		why = atExit(code, "", "the run in the background has ended; what it printed is above")
	}
	d.PID, d.ExitCode, d.Error = nil, code, why
}

// Forecast is what hank run prints with --dry-run.
type Forecast struct {
	*forecast.Forecast
	WorkSeconds float64    `json:"workSeconds"`
	Move        *FirstMove `json:"move,omitempty"`
	Error       *Problem   `json:"error"` // why it would end before it runs anything
}

// FirstMove is what would happen to the workspace before anything is run.
type FirstMove struct {
	*forecast.Move
	CheckpointSHA *state.SHA `json:"checkpointSha"`
}

// ForecastOf is a forecast as it is printed. asked is what would be asked first; nil: nothing.
func ForecastOf(f *forecast.Forecast, asked *Problem) *Forecast {
	out := &Forecast{Forecast: f, WorkSeconds: f.Worked, Error: asked}
	if asked == nil {
		out.Error = atExit(f.ExitCode, "", f.Message)
	}
	if f.Move != nil {
		out.Move = &FirstMove{f.Move, null(f.Move.To)}
	}
	return out
}

// Answered is what hank stop and hank skip print.
type Answered struct {
	Schema    int      `json:"schema"`
	Execution string   `json:"execution"`
	Command   string   `json:"command"` // stop, stop-after-codon, skip
	Verb      string   `json:"verb"`    // the same
	OK        bool     `json:"ok"`
	Error     string   `json:"error,omitempty"` // why the run has refused
	Refusal   *Problem `json:"refusal"`         // what error is in other forms
}

// AnsweredOf is the answer of a run; refused is why it refuses, nil for a yes.
func AnsweredOf(execution, verb, why string, refused *Problem) *Answered {
	return &Answered{1, execution, verb, verb, refused == nil, why, refused}
}
