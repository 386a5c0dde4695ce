package web

import (
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"hank/state"
)

const auditName = "audit.jsonl"

// audit is a file to which a line is added for each act, and for each that was refused.
type audit struct {
	path string
	mu   sync.Mutex
}

// entry is a line of the audit.
type entry struct {
	Schema     int       `json:"schema"`
	Time       time.Time `json:"time"`
	UID        int       `json:"uid"`  // -1: not known
	PIDs       []int     `json:"pids"` // that hold the connection; []: not known
	Via        string    `json:"via"`  // tcp or unix
	Remote     string    `json:"remote"`
	Execution  string    `json:"execution,omitempty"`
	Act        string    `json:"act"`
	Lineage    string    `json:"lineage,omitempty"`
	Checkpoint state.SHA `json:"checkpoint,omitempty"`
	Seq        uint64    `json:"seq,omitzero"` // the last event that the person saw
	Status     int       `json:"status"`       // of HTTP: 200, or why it was refused
	Said       string    `json:"said"`
}

// write adds a line. What cannot be written is lost: an act that was carried out is in the
// journal of its execution, too.
func (a *audit) write(e entry) {
	text, err := json.Marshal(e)
	if err != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(text, '\n'))
	_ = f.Close()
}
