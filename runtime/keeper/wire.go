package keeper

import (
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
	Path       string         `json:"path"` // program file
	Args       []string       `json:"args"`
	Env        []string       `json:"env"`
	Dir        string         `json:"dir"`
	StopSignal syscall.Signal `json:"stopSignal"`
	StopGrace  time.Duration  `json:"stopGrace"`
	Attempt    string         `json:"attempt"`
	Limit      time.Duration  `json:"limit"`
	Writable   []string       `json:"writable"` // nil: anything
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
