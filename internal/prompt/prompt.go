package prompt

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"hank/internal/term"
)

// What is no answer.
const (
	Cancelled = -1 // the user gives none
	NotAsked  = -2 // an optional question was not put
)

// Question is a question with a few answers.
type Question struct {
	Text    string
	Answers []string
	// Default is the number, from 1 on, of the answer that an empty line gives; 0: none
	// does. Only an answer that loses nothing may be one.
	Default int
	// Diff shows what the question is about, as text of others; nil: there is nothing to
	// be shown.
	Diff func(out io.Writer) error
	// Optional is a question that need not be asked: not if other input is waiting.
	Optional bool
}

// YesNo are the answers to a question of one line.
var YesNo = []string{"yes", "no"}

// Terminal is where questions are asked.
type Terminal struct{ In, Out *os.File }

// Ask puts a question and returns the index of the answer that was chosen, by its
// number, its text or the beginning of that; or Cancelled, or NotAsked.
func (t Terminal) Ask(q Question) int {
	chosen := Cancelled
	if accepted, asked := t.read(q.Optional, q.show(), func(line string) (again string) {
		switch line = strings.ToLower(line); {
		case line == "" && q.Default > 0:
			chosen = q.Default - 1
		case q.Diff != nil && (line == "d" || line == "diff"):
			return string(q.showDiff(t.Out) + q.show())
		default:
			if chosen = choose(line, q.Answers); chosen == Cancelled {
				return "Please answer with " + q.choices() + ".\n> "
			}
		}
		return ""
	}); !asked {
		return NotAsked
	} else if !accepted {
		return Cancelled
	}
	return chosen
}

// Line asks for a line of text, below what was printed before, until take accepts one: it
// returns why it does not, or an empty text. It reports whether one was accepted, and
// not cancelled.
func (t Terminal) Line(ask string, take func(line string) (why string)) bool {
	accepted, _ := t.read(false, term.Sprintf("%s", ask), func(line string) string {
		if why := take(line); why != "" {
			return string(term.Sprintf("%s\n%s", why, ask))
		}
		return ""
	})
	return accepted
}

// read shows a question and gives each line of the answer to take, until that returns
// nothing to be shown before the next line. It reports whether the user was asked, and has not
// cancelled.
func (t Terminal) read(optional bool, show term.Painted, take func(line string) (again string)) (accepted, asked bool) {
	in, waiting := open(t.In)
	if waiting && optional {
		return false, false
	}
	in.begin()
	defer in.close()
	if waiting {
		term.Fprintf(t.Out, "What was typed before this question is not taken as an answer to it.\n")
	}
	for next := string(show); ; {
		io.WriteString(t.Out, next)
		line, ok := in.line()
		if line = strings.TrimSpace(line); !ok || slices.Contains([]string{"q", "quit", "cancel"}, strings.ToLower(line)) {
			if in.discard(); !ok {
				term.Fprintf(t.Out, "\n")
			}
			return false, true
		}
		if next = take(line); next == "" {
			return true, true
		}
		in.discard() // the rest of what was pasted is no answer either
	}
}

// show is the question as it is printed.
func (q *Question) show() term.Painted {
	if slices.Equal(q.Answers, YesNo) {
		return term.Sprintf("%s (%s) > ", q.Text, q.choices())
	}
	text := term.Sprintf("%s\n", q.Text)
	for i, a := range q.Answers {
		if text += term.Sprintf("  %d  %s", i+1, a); q.Default == i+1 {
			text += " (default)"
		}
		text += "\n"
	}
	if q.Diff != nil {
		text += "  d  show the diff\n"
	}
	return text + "  q  cancel\n> "
}

// longest is how many lines of a difference are shown: no key ends it sooner.
const longest = 500

// showDiff shows the difference, and returns what is to be printed after it.
func (q *Question) showDiff(out io.Writer) term.Painted {
	first := &head{out: out, left: longest}
	shown := term.Lines(first)
	if err := errors.Join(q.Diff(shown), shown.Close()); err != nil {
		return term.Sprintf("the diff cannot be shown: %s\n", err)
	}
	if first.more > 0 {
		return term.Sprintf("... and %s more\n", term.Count(first.more, "line"))
	}
	return ""
}

// head passes on some lines, and counts the rest.
type head struct {
	out        io.Writer
	left, more int
}

func (h *head) Write(p []byte) (int, error) {
	for line := range strings.SplitAfterSeq(string(p), "\n") {
		switch {
		case line == "":
		case h.left > 0:
			h.left--
			if _, err := io.WriteString(h.out, line); err != nil {
				return 0, err
			}
		default:
			h.more++
		}
	}
	return len(p), nil
}

// choices are what can be typed, in words.
func (q *Question) choices() string {
	var all []string
	if slices.Equal(q.Answers, YesNo) {
		all = slices.Clone(q.Answers)
		if q.Default > 0 {
			all[q.Default-1] += " = Enter"
		}
	} else {
		all = []string{"a number from 1 to " + strconv.Itoa(len(q.Answers))}
	}
	if q.Diff != nil {
		all = append(all, "d = show the diff")
	}
	return strings.Join(append(all, "q = cancel"), ", ")
}

// choose is the index of the answer that a text names; Cancelled if it names none, or
// several.
func choose(text string, answers []string) int {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(answers) {
		return n - 1
	}
	found := Cancelled
	for i, a := range answers {
		switch a = strings.ToLower(a); {
		case a == text:
			return i
		case text == "" || !strings.HasPrefix(a, text):
		case found >= 0:
			return Cancelled
		default:
			found = i
		}
	}
	return found
}
