package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"hank/runtime/harness/transcript"
)

// delayVariable is how long a recorded pause may last, in milliseconds.
const delayVariable = "HANKWEAVE_REPLAY_MAX_DELAY_MS"

// killed is the end of a turn that has no exit: the runtime
// that recorded it died, and its keeper killed what was left.
var killed = transcript.Exit{Code: -1, Signal: "SIGKILL"}

// Main is the body of `hank __replay FILE TURN`: it prints what was recorded in
// a turn, counted from 0, and returns the recorded exit status, or dies by the
// recorded signal.
func Main(args []string) int {
	if len(args) != 2 {
		fmt.Fprintf(os.Stderr, "hank %s: needs the name of a transcript and the number of a turn\n", Argument)
		return 2
	}
	turn, err := strconv.Atoi(args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %q is no number of a turn\n", Argument, args[1])
		return 2
	}
	maxDelay, err := maxDelay(os.Getenv(delayVariable))
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %v\n", Argument, err)
		return 2
	}
	f, err := openTranscript(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %v\n", Argument, err)
		return 66 // EX_NOINPUT
	}
	defer f.Close()
	exit, err := play(f, turn, os.Stdout, os.Stderr, maxDelay, time.Sleep)
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %s: %v\n", Argument, args[0], err)
		return 65 // EX_DATAERR
	}
	if exit.Code >= 0 {
		return exit.Code
	}
	return dieBy(exit.Signal)
}

func maxDelay(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	ms, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%s is %q and must be a number of milliseconds", delayVariable, text)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// player prints the lines of one turn.
type player struct {
	streams  map[transcript.Stream]*bufio.Writer
	maxDelay time.Duration
	sleep    func(time.Duration)
	before   time.Time // of the last entry
}

// play prints the lines of a turn and returns its end.
func play(in io.Reader, turn int, stdout, stderr io.Writer, maxDelay time.Duration, sleep func(time.Duration)) (transcript.Exit, error) {
	p := player{
		streams: map[transcript.Stream]*bufio.Writer{
			transcript.Stdout: bufio.NewWriter(stdout), transcript.Stderr: bufio.NewWriter(stderr),
		},
		maxDelay: maxDelay, sleep: sleep,
	}
	exit, at := killed, -1
	for entry, err := range transcript.Read(in) {
		if err != nil {
			return exit, errors.Join(err, p.flush())
		}
		if entry.Stream == transcript.StreamStart {
			at++
		}
		if at > turn {
			break
		}
		if at < turn {
			continue
		}
		if err := p.print(entry); err != nil {
			return exit, err
		}
		if entry.Stream == transcript.StreamExit {
			exit = entry.Exit
		}
	}
	if at < turn {
		return exit, fmt.Errorf("it has no turn %d", turn)
	}
	return exit, p.flush()
}

// print waits as long as was recorded and prints a line.
func (p *player) print(entry transcript.Entry) error {
	if pause := min(entry.At.Sub(p.before), p.maxDelay); !p.before.IsZero() && pause > 0 {
		if err := p.flush(); err != nil {
			return err
		}
		p.sleep(pause)
	}
	p.before = entry.At
	w := p.streams[entry.Stream]
	if w == nil {
		return nil
	}
	_, err := w.Write(append(entry.Line, '\n'))
	return err
}

func (p *player) flush() error {
	return errors.Join(p.streams[transcript.Stdout].Flush(), p.streams[transcript.Stderr].Flush())
}
