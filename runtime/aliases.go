package runtime

import (
	"hank/runtime/request"
	"hank/runtime/result"
)

// What the packages below declare and callers of this one speak of.
type (
	Answers       = request.Answers
	Asker         = request.Asker
	HugeWorkspace = request.HugeWorkspace
	LimitChange   = request.LimitChange
	Mode          = request.Mode
	Request       = request.Request
	Result        = result.Result
	UI            = request.UI
)

const (
	ModeResume = request.ModeResume
	ModeRetry  = request.ModeRetry
	ModeRun    = request.ModeRun
)
