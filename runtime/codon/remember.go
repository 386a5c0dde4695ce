package codon

import (
	"context"
	"fmt"

	"hank/runtime/harness"
	"hank/runtime/session"
	"hank/state"
)

// recall brings the files of the session that the attempt continues back to what they
// were at the end of the codon that it continues from: whatever came of it since, in
// attempts that are done again and after checkpoints that were rolled back, the agent does
// not know. Where they are in no checkpoint the agent continues with them as they are.
func (a *attempt) recall(ctx context.Context, req harness.Request) *state.FailureReason {
	files, remembers, err := a.sessionFiles(req, req.Session)
	if !remembers || a.SessionCheckpoint == "" {
		return nil
	}
	changed := false
	if err == nil {
		a.host.Monitor().Step("bringing back the agent's session")
		changed, err = a.host.BringBackSession(ctx, files, a.SessionCheckpoint)
	}
	if err != nil {
		return &state.FailureReason{Type: state.FailUnknown, Class: harness.ClassSessionNotFound, Rule: "session-checkpoint",
			Message: fmt.Sprintf("the agent's session %s cannot be brought back to where the codon begins: %v; begin again at the codon that began the session (`hank retry CODON`), or set continuationMode to fresh", req.Session, err)}
	}
	if changed {
		a.host.Say("the agent's session is back at checkpoint %.7s of it; what had come since is kept", a.SessionCheckpoint)
	}
	return nil
}

// remember keeps the files of a session as the agent has left them, and returns their
// checkpoint. Where that cannot be made, the record says so: the work counts all the same.
func (a *attempt) remember(ctx context.Context, req harness.Request, id string) state.SHA {
	files, remembers, err := a.sessionFiles(req, id)
	if !remembers || err == nil && len(files.Names) == 0 {
		return ""
	}
	var at state.SHA
	if err == nil {
		a.host.Monitor().Step("keeping the agent's session")
		at, err = a.host.KeepSession(ctx, files)
	}
	if err != nil {
		a.notes = append(a.notes, fmt.Sprintf("the agent's session is in no checkpoint, so that a codon which continues it after a rollback would remember what came later: %v", err))
		return ""
	}
	return at
}

// sessionFiles are the files of a session, if the agent of the attempt has such.
func (a *attempt) sessionFiles(req harness.Request, id string) (f session.Files, remembers bool, err error) {
	h, remembers := a.Harness.(harness.Remembering)
	if !remembers || id == "" {
		return f, false, nil
	}
	f.Root, f.Names, err = h.SessionFiles(req, id)
	return f, true, err
}
