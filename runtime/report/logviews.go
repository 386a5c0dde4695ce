package report

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"hank/internal/advice"
	"hank/internal/term"
	"hank/runtime/gate"
	"hank/runtime/logview"
	"hank/runtime/verdict"
	"hank/state"
)

// LogText shows transcripts as text.
type LogText struct {
	lastLines
	p       *logview.Printer
	follows bool
	runs    bool
	option  string
	remark  func(text string)

	attempt  Attempt
	heading  bool   // it is still to be printed
	attempts int    // that were shown
	printed  int    // entries of the attempt
	tail     string // of what was printed last, which the reason of a failure may repeat
}

// NewLogText returns a view that writes to out in a style. follows: attempts that are
// running are shown to their end; runs: attempts are named with their runs. The commands in it have the option, see ReadStatus;
// what is no part of a transcript and all that there is to say goes to remark.
func NewLogText(out io.Writer, style logview.Style, follows, runs bool, option string, remark func(text string)) *LogText {
	t := &LogText{lastLines: lastLines{to: bufio.NewWriter(out)}, follows: follows, runs: runs, option: option, remark: remark}
	t.p = logview.NewPrinter(&t.lastLines, style)
	return t
}

// Begin implements LogView.
func (t *LogText) Begin(a Attempt) error {
	t.attempts++
	t.attempt, t.heading, t.printed, t.tail = a, true, 0, ""
	if !t.follows {
		return nil
	}
	return t.begin()
}

// begin prints the heading of the attempt.
func (t *LogText) begin() error {
	if !t.heading {
		return nil
	}
	t.heading = false
	a := t.attempt
	parts := []string{fmt.Sprintf("attempt %d", a.number())}
	if t.runs {
		parts[0] += " in run " + string(a.RunID)
	}
	switch {
	case a.Harness != "" && a.Model != "" && a.Harness != a.Model:
		parts = append(parts, a.Harness+" ("+a.Model+")")
	case a.Harness+a.Model != "":
		parts = append(parts, a.Harness+strings.TrimPrefix(a.Model, a.Harness))
	}
	parts = append(parts, a.StartTime.Local().Format(time.DateTime))
	return t.unheld(func() error { return t.p.Heading(string(a.CodonID), strings.Join(parts, ", ")) })
}

// tailLength is how much of what was printed is compared with the reason of a failure.
const tailLength = 4000

// Line implements LogView.
func (t *LogText) Line(l logview.Line) error {
	for _, e := range l.Entries {
		if err := t.begin(); err != nil {
			return err
		}
		t.printed++
		if e.Kind == logview.Message || e.Kind == logview.Output || e.Kind == logview.Stderr {
			t.tail += "\n" + e.Text
			t.tail = t.tail[max(0, len(t.tail)-tailLength):]
		}
		if err := t.p.Entry(e); err != nil {
			return err
		}
	}
	return nil
}

// End implements LogView.
func (t *LogText) End(a Attempt) error {
	over := a.Status.Terminal() || a.Verdict == verdict.Crashed || a.Verdict == verdict.Paused
	if t.printed == 0 && t.attempts == 1 && !t.follows && t.remark != nil {
		if a.ClaudeLogPath != "" {
			t.remark(fmt.Sprintf("codon %s has printed nothing; %s", a.CodonID, endingOf(a, t.option)))
			return nil
		}
	}
	if err := t.begin(); err != nil {
		return err
	}
	if !over {
		return t.p.Remark(fmt.Sprintf("%s for %s; %s follows it", verdict.OfCodon(a.Codon, ""), term.Duration(time.Since(a.StartTime.Time).Truncate(time.Second)), advice.Command("hank log -f", t.option)))
	}
	if t.printed == 0 && a.ClaudeLogPath != "" {
		if err := t.p.Remark("nothing was printed"); err != nil {
			return err
		}
	}
	text := a.Verdict.String()
	if d, ended := a.Took(); ended {
		text += " in " + term.Duration(d)
	}
	if a.Bill().Cost > 0 {
		text += ", " + a.Bill().Text()
	}
	if more := verdict.Qualification(a.Codon); more != "" {
		text += ", " + more
	}
	if f := ShownCodon(a.Codon, t.option).FailureReason; f != nil && a.Verdict != verdict.Stopped {
		if reason := t.unsaid(verdict.Beside(a.Verdict, f.Message)); reason != "" {
			text += ": " + reason
		}
	}
	end := logview.Bad
	switch a.Verdict {
	case verdict.Completed, verdict.Skipped:
		end = logview.Good
	case verdict.Stopped:
		end = logview.Cut
	}
	return t.p.Ending(end, text)
}

// unsaid is a reason without what was just printed.
func (t *LogText) unsaid(reason string) string {
	tail := strings.Join(strings.Fields(t.tail), " ")
	said := func(text string) bool {
		text = strings.Join(strings.Fields(text), " ")
		return text != "" && strings.HasSuffix(tail, text)
	}
	if said(reason) {
		return ""
	}
	if what, repeated, found := strings.Cut(reason, ": "); found && said(repeated) {
		return what
	}
	return reason
}

// endingOf is how an attempt ended, and why, as far as it has.
func endingOf(a Attempt, option string) string {
	ending := a.Verdict.String()
	if more := verdict.Qualification(a.Codon); more != "" {
		ending += ", " + more
	}
	if a.FailureReason != nil {
		ending += ": " + verdict.Beside(a.Verdict, ShownCodon(a.Codon, option).FailureReason.Message)
	}
	return ending
}

// Gate implements LogView.
func (t *LogText) Gate(v *gate.View) error {
	return t.p.Remark(fmt.Sprintf("%s; to approve: %s; to reject: %s", v.Waits(), v.Approve, v.Reject))
}

// RunEnd implements LogView.
func (t *LogText) RunEnd(r RunEnd) error {
	text := fmt.Sprintf("the run has ended: %s", r.Verdict)
	if r.Millis != nil {
		text += ", " + term.Duration(time.Duration(*r.Millis)*time.Millisecond)
	}
	text += ", " + r.bill.Text()
	if r.Detail != "" {
		text += ": " + FirstLine(r.Detail)
	}
	if r.Next != "" {
		text += "; next: " + r.Next
	}
	return t.p.Remark(text)
}

// LogJSON shows transcripts as JSON objects, see logview.Encoder.
type LogJSON struct {
	lastLines
	e *logview.Encoder
}

// NewLogJSON returns a view that writes to out.
func NewLogJSON(out io.Writer) *LogJSON {
	j := &LogJSON{lastLines: lastLines{to: bufio.NewWriter(out)}}
	j.e = logview.NewEncoder(&j.lastLines)
	return j
}

// Begin implements LogView.
func (j *LogJSON) Begin(a Attempt) error {
	return j.e.Attempt(string(a.RunID), string(a.CodonID), a.number())
}

// Line implements LogView.
func (j *LogJSON) Line(l logview.Line) error { return j.e.Line(l) }

// attemptEnd is how an attempt ended.
type attemptEnd struct {
	Verdict verdict.Verdict      `json:"verdict"`
	Cost    state.USD            `json:"cost"`
	Tokens  state.Tokens         `json:"tokens"`
	Millis  *int64               `json:"durationMs,omitempty"`
	Failure *state.FailureReason `json:"failureReason,omitempty"`
}

// End implements LogView.
func (j *LogJSON) End(a Attempt) error {
	if !a.Status.Terminal() {
		return nil
	}
	end := attemptEnd{Verdict: a.Verdict, Cost: a.Bill().Cost, Tokens: a.TokenCount(), Failure: a.FailureReason}
	if d, ended := a.Took(); ended {
		ms := d.Milliseconds()
		end.Millis = &ms
	}
	var at time.Time
	if a.EndTime != nil {
		at = a.EndTime.Time
	}
	return j.e.Member("end", at, end)
}

// Gate implements LogView.
func (j *LogJSON) Gate(v *gate.View) error {
	if err := j.e.Attempt("", string(v.CodonID), 0); err != nil {
		return err
	}
	return j.e.Member("gate", v.Time.Time, v)
}

// RunEnd implements LogView.
func (j *LogJSON) RunEnd(r RunEnd) error {
	if err := j.e.Attempt(string(r.RunID), "", 0); err != nil {
		return err
	}
	return j.e.Member("run", r.at, r)
}

// LogRaw passes on the bytes of transcripts as they are.
type LogRaw struct{ lastLines }

// NewLogRaw returns a view that writes to out.
func NewLogRaw(out io.Writer) *LogRaw { return &LogRaw{lastLines{to: bufio.NewWriter(out)}} }

// Begin implements LogView.
func (*LogRaw) Begin(Attempt) error { return nil }

// Line implements LogView; no line comes, since the bytes go past it.
func (*LogRaw) Line(logview.Line) error { return nil }

// End implements LogView.
func (*LogRaw) End(Attempt) error { return nil }

// Gate implements LogView.
func (*LogRaw) Gate(*gate.View) error { return nil }

// RunEnd implements LogView.
func (*LogRaw) RunEnd(RunEnd) error { return nil }

// lastLines writes to a buffer, or holds back all but the last lines.
type lastLines struct {
	to    *bufio.Writer
	limit int // 0: nothing is held
	lines [][]byte
	part  []byte
	count int
}

// Write implements io.Writer.
func (h *lastLines) Write(p []byte) (int, error) {
	if h.limit == 0 {
		return h.to.Write(p)
	}
	h.part = append(h.part, p...)
	for {
		end := bytes.IndexByte(h.part, '\n')
		if end < 0 {
			return len(p), nil
		}
		if h.count++; len(h.lines) == h.limit {
			h.lines = append(h.lines[:0], h.lines[1:]...)
		}
		h.lines = append(h.lines, bytes.Clone(h.part[:end+1]))
		h.part = append(h.part[:0], h.part[end+1:]...)
	}
}

// Hold implements LogView.
func (h *lastLines) Hold(limit int) { *h = lastLines{to: h.to, limit: limit} }

// Held implements LogView.
func (h *lastLines) Held() int { return h.count }

// Release implements LogView.
func (h *lastLines) Release() error {
	lines := append(h.lines, h.part)
	*h = lastLines{to: h.to}
	for _, line := range lines {
		if _, err := h.to.Write(line); err != nil {
			return err
		}
	}
	return nil
}

// unheld lets something be written at once.
func (h *lastLines) unheld(write func() error) error {
	limit := h.limit
	h.limit = 0
	defer func() { h.limit = limit }()
	return write()
}

// Flush implements LogView.
func (h *lastLines) Flush() error { return h.to.Flush() }
