package runtime

import "hank/runtime/request"

// What the packages below declare and callers of this one speak of.
type (
	Answers       = request.Answers
	Asker         = request.Asker
	HugeWorkspace = request.HugeWorkspace
	LimitChange   = request.LimitChange
	Mode          = request.Mode
	Request       = request.Request
	UI            = request.UI
)

const (
	ModeResume = request.ModeResume
	ModeRetry  = request.ModeRetry
	ModeRun    = request.ModeRun
)
