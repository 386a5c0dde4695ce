package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"hank/internal/shell"
	"hank/internal/term"
	"hank/recovery"
	"hank/runtime/agents"
	"hank/runtime/exitcode"
	"hank/runtime/gate"
	"hank/runtime/harness/transcript"
	"hank/runtime/history"
	"hank/runtime/logview"
	"hank/runtime/losses"
	"hank/runtime/verdict"
	"hank/state"
)

// LogQuery selects the attempts whose transcripts are shown: the newest one that the
// other fields allow, or all of them.
type LogQuery struct {
	Codon   state.CodonID // or a relative target; or the name without its iteration, for the newest iteration; empty: any
	Run     state.RunID   // empty: any
	Attempt int           // at the codon in its run; 0: the newest
	All     bool
	Limit   int // the last lines of each attempt; 0: all
}

// LogView shows transcripts.
type LogView interface {
	// Begin comes before the lines of an attempt.
	Begin(Attempt) error
	Line(logview.Line) error
	// End comes after them. The attempt may be running.
	End(Attempt) error
	// Gate comes when a run that is followed asks at a gate.
	Gate(*gate.View) error
	// RunEnd comes when a run that was followed is over.
	RunEnd(RunEnd) error
	// Hold lets what follows be only counted, in lines, but for the last ones, which
	// Release shows; what was held is dropped.
	Hold(limit int)
	Held() (lines int)
	Release() error
	// Flush comes when there is nothing more for the moment.
	Flush() error
}

// RunEnd is how a run that was followed has ended.
type RunEnd struct {
	RunID   state.RunID     `json:"-"`
	Verdict verdict.Verdict `json:"verdict"`
	Detail  string          `json:"detail,omitempty"`
	Cost    state.USD       `json:"cost"`
	Millis  *int64          `json:"durationMs,omitempty"` // absent: nobody was there to see its end
	Next    string          `json:"next,omitempty"`       // the command to run next
	Command *string         `json:"nextCommand"`          // see output.Status
	Advice  *string         `json:"nextAdvice"`           // the same

	bill state.Bill // of the cost
	at   time.Time  // zero: nobody was there to see its end
}

// formats are the harnesses whose transcripts can be read.
func formats() logview.Formats {
	return logview.Formats{ByName: agents.Harnesses, Other: agents.Foreign}
}

// PrintLog shows the transcripts that a query selects.
func PrintLog(v *recovery.View, q LogQuery, to LogView) (err error) {
	if q.Codon, err = history.CodonAt(v.State, string(q.Codon)); err != nil {
		return err
	}
	attempts, err := q.attempts(v)
	if err != nil {
		return err
	}
	return errors.Join(printAttempts(v, q, attempts, to), to.Flush())
}

func printAttempts(v *recovery.View, q LogQuery, attempts []Attempt, to LogView) error {
	for _, a := range attempts {
		if err := to.Begin(a); err != nil {
			return err
		}
		t, err := openTranscript(v, a, to)
		var gone *exitcode.UsageError
		if errors.As(err, &gone) && q.All {
			err = nil // what it lacks is told
		}
		if err == nil {
			err = t.show(to, q.Limit, !v.Live || a.Status.Terminal())
		}
		if text := losses.Text(v.Layout, a.Codon); err == nil && text != "" {
			err = to.Line(logview.Damage(text))
		}
		if err == nil {
			err = to.End(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// attempts are those that the query selects, oldest first. One at least has a
// transcript; without All it is the newest that has, and those after it that have none.
func (q LogQuery) attempts(v *recovery.View) ([]Attempt, error) {
	if q.Run != "" && v.State.Run(q.Run) == nil {
		return nil, history.UnknownRun(v.State.Runs, string(q.Run))
	}
	var found []Attempt
	for _, r := range slices.Backward(v.State.Runs) {
		if q.Run != "" && r.RunID != q.Run {
			continue
		}
		of := verdict.OfRun(v, r)
		for _, k := range r.Codons() {
			if q.wants(v.State, k.CodonID) {
				found = append(found, Attempt{RunID: r.RunID, Verdict: verdict.OfCodon(k, of), Codon: k})
			}
		}
	}
	if q.Attempt != 0 && len(found) > 0 {
		last := found[len(found)-1]
		at := slices.IndexFunc(found, func(a Attempt) bool {
			return a.RunID == last.RunID && a.CodonID == last.CodonID && a.number() == q.Attempt
		})
		if at < 0 {
			others := ""
			if slices.ContainsFunc(found, func(a Attempt) bool { return a.RunID != last.RunID && a.CodonID == last.CodonID }) {
				others = fmt.Sprintf("; those of other runs, too: `hank log %s --all`", shell.Quote(string(last.CodonID)))
			}
			return nil, &exitcode.UsageError{Why: fmt.Sprintf("codon %s has no attempt %d in run %s; it has %d there%s", last.CodonID, q.Attempt, last.RunID, last.number(), others)}
		}
		found = found[at : at+1]
	}
	if newest := lastWithTranscript(found); newest < 0 {
		return nil, q.nothing(v, found)
	} else if !q.All {
		found = found[newest:]
	}
	return found, nil
}

// wants reports whether a codon is the one that the query names, or an iteration of it.
func (q LogQuery) wants(s *state.State, id state.CodonID) bool {
	return q.Codon == "" || id == q.Codon || strings.HasPrefix(string(id), string(q.Codon)+"#") && !knows(s, q.Codon)
}

func lastWithTranscript(list []Attempt) int {
	for i, a := range slices.Backward(list) {
		if a.ClaudeLogPath != "" {
			return i
		}
	}
	return -1
}

// nothing says why there is nothing to show.
func (q LogQuery) nothing(v *recovery.View, found []Attempt) error {
	why := "no agent has been started yet"
	switch last := len(found) - 1; {
	case last >= 0 && v.Live && !found[last].Status.Terminal():
		why = fmt.Sprintf("codon %s is %s, and its agent has not started yet; to wait for it: `hank log -f`", found[last].CodonID, found[last].Status)
	case last >= 0:
		why = fmt.Sprintf("codon %s has no transcript: no start of its agent is recorded; see: `hank plan`", found[last].CodonID)
	case q.Codon != "" && !q.named(v.State):
		return history.UnknownCodon(v.State, q.Codon)
	case q.Run != "" && q.Codon != "":
		why = fmt.Sprintf("codon %s is not in run %s; see: `hank show %s`", q.Codon, q.Run, q.Run)
	case q.Run != "":
		why = fmt.Sprintf("no agent was started in run %s", q.Run)
	case q.Codon != "":
		why = fmt.Sprintf("codon %s has no transcript: no start of its agent is recorded; see: `hank plan`", q.Codon)
	}
	return &exitcode.UsageError{Why: why}
}

// named reports whether the plan or a run has the codon, or the plan iterations of it.
func (q LogQuery) named(s *state.State) bool {
	return knows(s, q.Codon) || slices.ContainsFunc(s.ExecutionPlan(), func(e *state.PlanEntry) bool {
		return strings.HasPrefix(string(e.CodonID), string(q.Codon)+"#")
	})
}

// mayCome is named, also for an iteration that the plan may still get.
func (q LogQuery) mayCome(s *state.State) bool {
	name, _, _ := strings.Cut(string(q.Codon), "#")
	return q.named(s) || LogQuery{Codon: state.CodonID(name)}.named(s)
}

// number is the attempt's number; records of another runtime have none.
func (a Attempt) number() int { return max(1, a.Attempt) }

// openedTranscript is the transcript of an attempt; nil is that of one that has none.
type openedTranscript struct {
	file   *os.File
	start  transcript.Start // as far as the record has it
	lines  *logview.Lines
	parser *logview.Parser
	raw    io.Writer // gets the bytes instead; nil: nobody
}

func openTranscript(v *recovery.View, a Attempt, to LogView) (*openedTranscript, error) {
	if a.ClaudeLogPath == "" {
		return nil, nil
	}
	path := v.Layout.Resolve(a.ClaudeLogPath)
	if losses.IsGone(os.Stat(path)) {
		return nil, &exitcode.UsageError{Why: losses.Text(v.Layout, a.Codon)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t := &openedTranscript{file: f, start: transcript.Start{Harness: a.Harness, Model: a.Model}, lines: logview.NewLines(f)}
	t.parser = logview.NewParser(formats(), t.start)
	if raw, ok := to.(*LogRaw); ok {
		t.raw = &raw.lastLines
	}
	return t, nil
}

func (t *openedTranscript) close() { _ = t.file.Close() } // it was only read

// show shows the transcript, or its last lines; over: nobody writes to it any more.
func (t *openedTranscript) show(to LogView, limit int, over bool) error {
	if t == nil {
		return nil
	}
	defer t.close()
	if limit > 0 {
		return t.tail(to, limit, over)
	}
	return t.each(over, to.Line)
}

// each calls fn for each line that there is by now.
func (t *openedTranscript) each(over bool, fn func(logview.Line) error) error {
	if t.raw != nil {
		return t.lines.Copy(t.raw)
	}
	for {
		raw, tooLong, err := t.lines.Next()
		switch {
		case errors.Is(err, io.EOF) && over:
			return t.torn(fn)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case tooLong > 0:
			err = fn(t.parser.Long(tooLong))
		default:
			err = fn(t.parser.Line(raw))
		}
		if err != nil {
			return err
		}
	}
}

func (t *openedTranscript) torn(fn func(logview.Line) error) error {
	part, tooLong := t.lines.Rest()
	switch {
	case tooLong > 0:
		return fn(t.parser.Long(tooLong))
	case len(part) > 0:
		return fn(t.parser.Torn(part))
	}
	return nil
}

// firstTail is how much of the end of a transcript is looked at first for its last
// lines; more only if they are not in it.
const firstTail = 256 << 10

// tail shows the last lines of what the transcript is shown as.
func (t *openedTranscript) tail(to LogView, limit int, over bool) error {
	fi, err := t.file.Stat()
	if err != nil {
		return err
	}
	for width := int64(firstTail); ; width *= 8 {
		from := max(0, fi.Size()-width)
		if err := t.from(from); err != nil {
			return err
		}
		to.Hold(limit)
		if err := t.each(over, to.Line); err != nil {
			return err
		}
		if from == 0 || to.Held() >= limit {
			return to.Release()
		}
	}
}

// from continues the transcript after the first end of a line that comes at or after a
// place in it.
func (t *openedTranscript) from(at int64) error {
	if _, err := t.file.Seek(at, io.SeekStart); err != nil {
		return err
	}
	t.lines, t.parser = logview.NewLines(t.file), logview.NewParser(formats(), t.start)
	if at == 0 {
		return nil
	}
	if _, _, err := t.lines.Next(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// lastWords returns what an agent printed last, and the tool that it uses at the
// moment, from the end of its transcript.
func lastWords(v *recovery.View, k *state.Codon) (words, tool string) {
	t, err := openTranscript(v, Attempt{Codon: k}, nil)
	if err != nil || t == nil {
		return "", ""
	}
	defer t.close()
	fi, err := t.file.Stat()
	if err != nil || t.from(max(0, fi.Size()-firstTail)) != nil {
		return "", ""
	}
	const width = 160
	used := ""
	_ = t.each(false, func(l logview.Line) error {
		for _, e := range l.Entries {
			switch {
			case e.Kind == logview.Tool:
				tool, used = e.Tool, e.ID
				if e.Text != "" {
					tool += ": " + strings.ReplaceAll(e.Text, v.Layout.Workspace+"/", "")
				}
			case e.Kind == logview.Result && e.ID == used, e.Kind == logview.Message:
				tool = ""
			}
			if (e.Kind == logview.Message || e.Kind == logview.Output) && strings.TrimSpace(e.Text) != "" {
				words = e.Text
			}
		}
		return nil
	})
	return oneLine(words, width), oneLine(tool, width)
}

// oneLine is a text for people in one line of at most so many characters.
func oneLine(text string, width int) string {
	text = term.OneLine(text[:min(len(text), 64<<10)])
	if r := []rune(text); len(r) > width {
		text = string(r[:width-1]) + "…"
	}
	return text
}

// followEvery is how often what is followed is looked at.
const followEvery = 200 * time.Millisecond
