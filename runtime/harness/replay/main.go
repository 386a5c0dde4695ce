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

// killed is the end of an attempt whose transcript has no exit: the runtime
// that recorded it died, and its keeper killed what was left.
var killed = transcript.Exit{Code: -1, Signal: "SIGKILL"}

// Main is the body of `hank __replay FILE`: it prints what was recorded and
// returns the recorded exit status, or dies by the recorded signal.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintf(os.Stderr, "hank %s: needs the name of one transcript\n", Argument)
		return 2
	}
	maxDelay, err := maxDelay(os.Getenv(delayVariable))
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %v\n", Argument, err)
		return 2
	}
	f, err := os.Open(args[0])
	if err != nil {
		fmt.Fprintf(os.Stderr, "hank %s: %v\n", Argument, err)
		return 66 // EX_NOINPUT
	}
	defer f.Close()
	exit, err := play(f, os.Stdout, os.Stderr, maxDelay, time.Sleep)
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

// play prints the lines of a transcript and returns its end.
func play(in io.Reader, stdout, stderr io.Writer, maxDelay time.Duration, sleep func(time.Duration)) (transcript.Exit, error) {
	streams := map[transcript.Stream]*bufio.Writer{
		transcript.Stdout: bufio.NewWriter(stdout),
		transcript.Stderr: bufio.NewWriter(stderr),
	}
	flush := func() error {
		return errors.Join(streams[transcript.Stdout].Flush(), streams[transcript.Stderr].Flush())
	}
	var before time.Time
	exit := killed
	for entry, err := range transcript.Read(in) {
		if err != nil {
			return exit, errors.Join(err, flush())
		}
		if pause := min(entry.At.Sub(before), maxDelay); !before.IsZero() && pause > 0 {
			if err := flush(); err != nil {
				return exit, err
			}
			sleep(pause)
		}
		before = entry.At
		if entry.Stream == transcript.StreamExit {
			exit = entry.Exit
		} else if w := streams[entry.Stream]; w != nil {
			w.Write(append(entry.Line, '\n')) // an error comes back from flush
		}
	}
	return exit, flush()
}
