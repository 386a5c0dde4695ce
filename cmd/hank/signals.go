package main

import (
	"os"
	"os/signal"
	"syscall"

	"hank/runtime/codon"
	"hank/runtime/exitcode"
	"hank/state"
)

// signals turns signals into requests. On a terminal the first Ctrl-C lets the
// codon finish, the second stops now, the third kills. Elsewhere, and with Ctrl-\,
// the first stops now and the second kills.
func signals() (requests <-chan codon.Request, stop func()) {
	caught := make(chan os.Signal, 4)
	want := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGQUIT}
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it stays ignored
		want = append(want, syscall.SIGHUP)
	}
	signal.Notify(caught, want...)
	signal.Stop(quitting) // a run ends in order
	out := make(chan codon.Request, 4)
	go func() {
		defer close(out)
		for count := 1; ; count++ {
			sig, open := <-caught
			if !open {
				return
			}
			code := exitcode.Code(128 + int(sig.(syscall.Signal)))
			out <- codon.Request{Signal: meaning(count, sig == os.Interrupt && isTerminal()), Reason: state.EndSignal, Code: code}
		}
	}()
	return out, func() { catchQuit(); signal.Stop(caught); close(caught) }
}

// quitting gets Ctrl-\ where nothing else takes it.
var quitting = make(chan os.Signal, 1)

// catchQuit lets Ctrl-\ end the process as Ctrl-C does, without the dump of all
// goroutines with which a Go program answers it.
func catchQuit() { signal.Notify(quitting, syscall.SIGQUIT) }

// endOnQuit ends the process on Ctrl-\, except while signals takes it.
func endOnQuit() {
	catchQuit()
	go func() {
		<-quitting
		os.Exit(int(exitcode.Quit))
	}()
}

// meaning is what the n-th signal asks for; gentle is a Ctrl-C on a terminal.
func meaning(n int, gentle bool) codon.Signal {
	switch {
	case gentle && n == 1:
		remark("\nwill stop after this codon; press Ctrl-C again to stop now, a third time to kill\n")
		return codon.StopAfterCodon
	case gentle && n == 2 || !gentle && n == 1:
		remark("stopping now\n")
		return codon.StopNow
	}
	return codon.StopForce
}
