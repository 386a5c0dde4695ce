package codon

import (
	"context"
	"fmt"
	"strings"

	"hank/internal/failpoint"
	"hank/runtime/harness"
	"hank/state"
)

// expected checks what the codon is to leave, once its agent has ended well and nothing
// of it runs any more, and returns why the attempt has failed after all. Its files are
// looked for first, then the marker, and then its command runs: the first that is not
// met names the failure.
//
// A crash before its answer is recorded (expect.checked) makes the attempt one that was
// interrupted, as a crash while the outputs are copied does: it runs again.
func (a *attempt) expected(ctx context.Context, res ended) (*state.FailureReason, error) {
	e := a.Entry.Codon.Expect
	if e == nil || a.Idle {
		return nil, nil
	}
	defer failpoint.Hit("expect.checked")
	a.host.Monitor().Step("checking what is expected of it")
	unmet := func(rule, format string, args ...any) *state.FailureReason {
		// With a budget that is used up, another attempt would be ended before it began.
		return &state.FailureReason{Type: state.FailUnknown, Retriable: a.exceeded == nil, Class: classExpectation, Rule: rule,
			Message: harness.Excerpt(fmt.Sprintf(format, args...), harness.MaxMessage)}
	}
	missing, err := a.checks(nil).Missing(a.Program.Patterns(a.Entry, e.Files, a.vars()))
	if err != nil {
		return unmet("files", "expect: %v", err), nil
	}
	if len(missing) > 0 {
		return unmet("files", "expect: no file matches %s", listed(missing)), nil
	}
	if marker := a.Program.Marker(a.Entry, a.vars()); marker != "" && !strings.Contains(res.verdict.Text, marker) {
		said := "there was none"
		if text := strings.TrimSpace(res.verdict.Text); text != "" {
			said = "it ends: " + lastPart(text)
		}
		return unmet("marker", "expect: the last message does not contain %q; %s", marker, said), nil
	}
	if e.Command == nil {
		return nil, nil
	}
	f, err := a.check(ctx, *e.Command)
	if err != nil || f == nil {
		return nil, err
	}
	reason, err := a.rigFailed(f, classExpectation, "command")
	if reason != nil {
		reason.Message = harness.Excerpt("expect: "+reason.Message, harness.MaxMessage)
		reason.Retriable = a.exceeded == nil
	}
	return reason, err
}

// classExpectation is the class of a failure by an expectation that is not met.
const classExpectation = "expectation"

// lastPart is the end of a text, in one line, from a whole word on: a part of a secret
// would not be known as one.
func lastPart(text string) string {
	const most = 200
	words := strings.Fields(ending(text))
	from, length := len(words), 0
	for from > 0 && length+len(words[from-1]) < most {
		from--
		length += len(words[from]) + 1
	}
	short := strings.Join(words[from:], " ")
	if from > 0 {
		short = "…" + short
	}
	return fmt.Sprintf("%q", short)
}
