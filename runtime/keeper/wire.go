package keeper

import (
	"encoding/base64"
	"syscall"
	"time"

	"hank/internal/proc"
)

// The runtime writes one order as a line of JSON to the control pipe, and
// then commands, one a line, until it closes it: stopCommand, killCommand. The end
// of the pipe means the same as killCommand.
const (
	stopCommand = "stop"
	killCommand = "kill"
)

// order is what a keeper has to run. Everything in it has been checked.
type order struct {
	Path       raw            `json:"path"` // program file
	Args       []raw          `json:"args"`
	Env        []raw          `json:"env"`
	Dir        raw            `json:"dir"`
	StopSignal syscall.Signal `json:"stopSignal"`
	StopGrace  time.Duration  `json:"stopGrace"`
	Attempt    string         `json:"attempt"`
	Limit      time.Duration  `json:"limit"`
	Writable   []raw          `json:"writable"` // nil: anything
}

// raw is a text of the system, which need not be UTF-8. In JSON, where such bytes
// would come out as others, it is written in base64.
type raw string

// MarshalText implements encoding.TextMarshaler.
func (r raw) MarshalText() ([]byte, error) {
	return base64.StdEncoding.AppendEncode(nil, []byte(r)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *raw) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	*r = raw(b)
	return err
}

// texts turns a list into one of another kind of text; nil stays nil.
func texts[To, From ~string](list []From) []To {
	if list == nil {
		return nil
	}
	out := make([]To, len(list))
	for i, s := range list {
		out[i] = To(s)
	}
	return out
}

// report is a line of JSON on the report pipe. A keeper writes Started or
// Failed first, and after Started, as its last act, Exited. No Exited means
// that the keeper was lost.
type report struct {
	Started *proc.Identity `json:"started,omitempty"`
	Failed  string         `json:"failed,omitempty"`
	Exited  *ending        `json:"exited,omitempty"`
}

// ending is an Exit and what could not be killed.
type ending struct {
	Exit
	Alive []Leftover `json:"alive,omitempty"`
}
