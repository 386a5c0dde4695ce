// Package notification runs the command that wants to know how a run has ended.
//
// It bounds how long that may take, and ends all that the command leaves behind. What is
// told, and whether, is decided by the runtime.
package notification

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"hank/internal/proc"
	"hank/runtime/keeper"
	"hank/runtime/rig"
)

// notifyLimit is the longest time that a notification may take.
const notifyLimit = 30 * time.Second

// Run runs a command for sh with a text on its standard input.
func Run(ctx context.Context, command string, environ []string, stdin []byte) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	out := &rig.Console{}
	p, err := keeper.Start(keeper.Spec{
		Args: []string{"sh", "-c", command}, Env: environ, Dir: here, Stdin: stdin,
		Attempt: proc.NotifyPrefix + newToken(), StopGrace: time.Second,
	}, keeper.Streams{Stdout: out.Writer(rig.Stdout), Stderr: out.Writer(rig.Stderr)})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyLimit)
	defer cancel()
	stop := context.AfterFunc(limited, p.Stop)
	defer stop()
	exit, _ := p.Wait() // trouble with its streams is no trouble of its work
	out.Finish()
	switch tail := out.Tail(); {
	case exit.Stopped:
		return fmt.Errorf("it was ended after its limit of %s", notifyLimit)
	case exit.Signal != "":
		return fmt.Errorf("it was ended by %s", exit.Signal)
	case exit.Code != 0 && tail != "":
		return fmt.Errorf("it ended with code %d: %s", exit.Code, tail)
	case exit.Code != 0:
		return fmt.Errorf("it ended with code %d", exit.Code)
	}
	return nil
}

func newToken() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}
