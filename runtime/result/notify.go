package result

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/go-json-experiment/json"

	"hank/internal/shell"
	"hank/plan"
	"hank/recovery"
	"hank/recovery/layout"
	"hank/runtime/exitcode"
	"hank/runtime/notification"
	"hank/runtime/request"
	"hank/runtime/rig"
	"hank/runtime/verdict"
)

// Notify runs the command that wants to know how a run ended, with the
// result as JSON on its standard input. It runs when the run is over, whatever
// came of it, also when the context was what ended it, and when there was none
// because something is wrong or the user must decide. A wrong command line and
// an execution that another runtime holds end nothing, and are not told. Nothing
// that the command does changes the result.
func Notify(ctx context.Context, r request.Request, ui request.UI, res *Result, err error) {
	code := verdict.CodeOf(err)
	if r.Notify == "" || code == exitcode.Usage || code == exitcode.Held || res == nil && err == nil {
		return
	}
	if res == nil {
		res = unopened(r, err)
	}
	if err := notify(ctx, r, ui, res); err != nil {
		ui.Remark(fmt.Sprintf("warning: the notification %s failed: %v; the result is not affected", rig.QuoteCommand(r.Notify), err))
	}
}

// unopened is the result where the execution could not be opened: as far as it
// can be read.
func unopened(r request.Request, err error) *Result {
	res := &Result{Schema: Schema, Code: verdict.CodeOf(err), Message: verdict.Sentence(err), Err: err, Expected: plan.Extent{}.String(), Execution: request.Absolute(cmp.Or(r.Execution, "."))}
	if v, readErr := recovery.Read(res.Execution); readErr == nil {
		res.Done, res.Planned, res.Bill = v.State.Next(), len(v.State.ExecutionPlan()), v.State.Bill()
		res.Expected = v.Extent().String()
		res.Workspace, res.Output, res.Caveats = v.Layout.Workspace, v.Meta.Output, v.Head.Caveats
	}
	return res
}

func notify(ctx context.Context, r request.Request, ui request.UI, res *Result) error {
	option := ""
	if found, err := layout.Find("."); err != nil || found != res.Execution { // whoever is told may be elsewhere
		option = " -e " + shell.Quote(res.Execution)
	}
	var form any = res.For(option)
	if ui.Form != nil {
		form = ui.Form(res.For(option))
	}
	text, err := json.Marshal(form)
	if err != nil {
		return err
	}
	environ := r.Environ
	if environ == nil {
		environ = os.Environ()
	}
	return notification.Run(ctx, r.Notify, environ, append(text, '\n'))
}
