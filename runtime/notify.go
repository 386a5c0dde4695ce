package runtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/advice"
	"hank/internal/proc"
	"hank/internal/shell"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/keeper"
	"hank/runtime/request"
	"hank/runtime/rig"
	"hank/runtime/verdict"
)

// notifyLimit is the longest time that a notification may take.
const notifyLimit = 30 * time.Second

// notifyEnd runs the command that wants to know how a run ended, with the
// result as JSON on its standard input. It runs when the run is over, whatever
// came of it, also when the context was what ended it, and when there was none
// because something is wrong or the user must decide. A wrong command line and
// an execution that another runtime holds end nothing, and are not told. Nothing
// that the command does changes the result.
func notifyEnd(ctx context.Context, r Request, ui UI, res *Result, err error) {
	code := verdict.CodeOf(err)
	if r.Notify == "" || code == exitcode.Usage || code == exitcode.Held || res == nil && err == nil {
		return
	}
	if res == nil {
		res = unopened(r, err)
	}
	if err := notify(ctx, r, res); err != nil {
		ui.Remark(fmt.Sprintf("warning: the notification %s failed: %v; the result is not affected", rig.QuoteCommand(r.Notify), err))
	}
}

// Notify tells Request.Notify of what has kept a run from being begun at all.
func Notify(ctx context.Context, r Request, ui UI, err error) { notifyEnd(ctx, r, ui, nil, err) }

// unopened is the result where the execution could not be opened: as far as it
// can be read.
func unopened(r Request, err error) *Result {
	res := &Result{Schema: outputSchema, Code: verdict.CodeOf(err), Message: verdict.Sentence(err), Execution: request.Absolute(cmp.Or(r.Execution, "."))}
	if v, readErr := recovery.Read(res.Execution); readErr == nil {
		res.Done, res.Planned, res.Bill = v.State.Next(), len(v.State.ExecutionPlan()), v.State.Bill()
		res.Workspace, res.Output, res.Caveats = v.Layout.Workspace, v.Meta.Output, v.Head.Caveats
	}
	return res
}

func notify(ctx context.Context, r Request, res *Result) error {
	told, option := *res, ""
	if found, err := layout.Find("."); err != nil || found != res.Execution { // whoever is told may be elsewhere
		option = " -e " + shell.Quote(res.Execution)
	}
	told.Next, told.Finish, told.Message = advice.Command(told.Next, option), advice.Command(told.Finish, option), advice.Render(told.Message, option)
	text, err := json.Marshal(told)
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	environ := r.Environ
	if environ == nil {
		environ = os.Environ()
	}
	out := &rig.Console{}
	p, err := keeper.Start(keeper.Spec{
		Args: []string{"sh", "-c", r.Notify}, Env: environ, Dir: here, Stdin: append(text, '\n'),
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
