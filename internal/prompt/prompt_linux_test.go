package prompt

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hank/internal/term/termtest"
)

// asked puts a question on a terminal, and returns the person before it and the answer
// to come.
func asked(t *testing.T, q Question, typedBefore string) (p *termtest.Person, terminal *os.File, answer chan int) {
	t.Helper()
	screen, terminal := termtest.Open(t, 80)
	t.Cleanup(func() { terminal.Close() })
	p = termtest.Watch(t, screen)
	if typedBefore != "" {
		p.Types(typedBefore)
		p.Sees(strings.ReplaceAll(typedBefore, "\n", "\r\n")) // its echo: it is in the buffer
	}
	answer = make(chan int, 1)
	go func() { answer <- Terminal{terminal, terminal}.Ask(q) }()
	return p, terminal, answer
}

func TestAQuestionIsAskedUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	shown := 0
	p, _, answer := asked(t, Question{Text: "What now?", Answers: []string{"keep it", "restore it"}, Diff: func(out io.Writer) error {
		shown++
		_, err := io.WriteString(out, "the \x1b[2Jdifference\n"+strings.Repeat("line\n", longest+1))
		return err
	}}, "")
	p.Sees("What now?\r\n  1  keep it\r\n  2  restore it\r\n  d  show the diff\r\n  q  cancel\r\n> ")
	for _, nothing := range []string{"", "maybe", "3", "0", "-1"} {
		p.Types(nothing + "\n")
		p.Sees("Please answer with a number from 1 to 2, d = show the diff, q = cancel.\r\n> ")
	}
	p.Types("d\n")
	p.Sees("the difference\r\nline\r\n")
	p.Sees("line\r\n... and 2 lines more\r\nWhat now?")
	p.Sees("> ")
	p.Types("resto\n")
	if got := <-answer; got != 1 || shown != 1 {
		t.Errorf("answer %d, shown %d times", got, shown)
	}
}

func TestTheKeysThatCancel(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{"q\n", "Q\n", "cancel\n", "\x03", "ye\x03", "\x1c", "\x04"} {
		p, terminal, answer := asked(t, Question{Text: "Proceed?", Answers: []string{"yes", "no"}}, "")
		before, err := unix.IoctlGetTermios(int(terminal.Fd()), getMode)
		if err != nil {
			t.Fatal(err)
		}
		p.Sees("Proceed? (yes, no, q = cancel) > ")
		p.Types(keys)
		if got := <-answer; got != Cancelled {
			t.Errorf("%q: answer %d", keys, got)
		}
		after, err := unix.IoctlGetTermios(int(terminal.Fd()), getMode)
		if err != nil || *after != *before && before.Lflag&unix.ISIG != 0 {
			t.Errorf("%q: the mode of the terminal was %+v and is %+v (%v)", keys, before, after, err)
		}
		if after.Lflag&unix.ISIG == 0 {
			t.Errorf("%q: keys send no signals any more", keys)
		}
	}
}

// Nothing that was typed or pasted before the question was shown is an answer to it, nor
// is the rest of what was pasted as a wrong one.
func TestPastedLinesAreNoAnswers(t *testing.T) {
	t.Parallel()
	q := Question{Text: "Delete it?", Answers: []string{"yes", "no"}}
	p, _, answer := asked(t, q, "yes\n1\ny")
	p.Sees("What was typed before this question is not taken as an answer to it.\r\nDelete it? (yes, no, q = cancel) > ")
	p.Types("hank run\nyes\nyes\n")
	p.Sees("Please answer with yes, no, q = cancel.\r\n> ")
	p.Types("no\n")
	if got := <-answer; got != 1 {
		t.Errorf("answer %d: %q", got, p.Seen)
	}

	q.Optional = true
	_, terminal, answer := asked(t, q, "cd x\nhank run\n")
	if got := <-answer; got != NotAsked {
		t.Errorf("an optional question: answer %d", got)
	}
	buf := make([]byte, 100)
	for _, want := range []string{"cd x\n", "hank run\n"} {
		if n, err := terminal.Read(buf); string(buf[:n]) != want {
			t.Errorf("left to the shell: %q, %v", buf[:n], err)
		}
	}
}

func TestADefaultIsGivenByAnEmptyLine(t *testing.T) {
	t.Parallel()
	p, _, answer := asked(t, Question{Text: "Which?", Answers: []string{"one", "two"}, Default: 2, Diff: func(io.Writer) error { return errors.New("lost") }}, "")
	p.Sees("  2  two (default)\r\n")
	p.Types("d\n")
	p.Sees("the diff cannot be shown: lost\r\nWhich?")
	p.Sees("> ")
	p.Types("\n")
	if got := <-answer; got != 1 {
		t.Errorf("answer %d", got)
	}
	p, _, answer = asked(t, Question{Text: "Sure?", Answers: []string{"yes", "no"}, Default: 2}, "")
	p.Sees("Sure? (yes, no = Enter, q = cancel) > ")
	p.Types("\n")
	if got := <-answer; got != 1 {
		t.Errorf("answer %d", got)
	}
}

func TestALineIsAskedForUntilItIsTaken(t *testing.T) {
	t.Parallel()
	screen, terminal := termtest.Open(t, 80)
	defer terminal.Close()
	p, taken := termtest.Watch(t, screen), make(chan string, 2)
	ask := func() {
		var got string
		ok := Terminal{terminal, terminal}.Line("number > ", func(line string) string {
			if line != "7" {
				return "there is no " + line + "\x1b[2J"
			}
			got = line
			return ""
		})
		if taken <- got; !ok {
			taken <- "cancelled"
		}
	}
	go ask()
	p.Sees("number > ")
	p.Types("6\n")
	p.Sees("there is no 6\r\nnumber > ")
	p.Types("7\n")
	if got := <-taken; got != "7" {
		t.Errorf("%q", got)
	}
	go ask()
	p.Sees("number > ")
	p.Types("q\n")
	if a, b := <-taken, <-taken; a != "" || b != "cancelled" {
		t.Errorf("%q %q", a, b)
	}
}

func TestAnswersAreNumbersNamesAndBeginnings(t *testing.T) {
	t.Parallel()
	answers := []string{"yes", "no", "not now"}
	for in, want := range map[string]int{"1": 0, "y": 0, "yes": 0, "2": 1, "no": 1, "not": 2, "": -1, "n": -1, "4": -1, "0": -1, "maybe": -1} {
		if got := choose(in, answers); got != want {
			t.Errorf("%q: %d, want %d", in, got, want)
		}
	}
}
