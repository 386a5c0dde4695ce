package web

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/secret"
	"hank/runtime/web/page"
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

// entry is what there is to write down about a request.
func (s *Server) entry(r *http.Request, a asked, status int, said string) entry {
	e := entry{Schema: 1, Time: time.Now().UTC(), Via: s.listener.Addr().Network(), Remote: r.RemoteAddr, Lineage: a.Lineage, Checkpoint: a.Checkpoint, Seq: a.Seq, Status: status, Said: secret.Text(said), PIDs: []int{}}
	if a.Target != "" {
		e.Checkpoint = a.Target
	}
	uid, pids, err := callersOf(r)
	if e.UID = uid; err == nil {
		e.PIDs = pids
	}
	rest := strings.TrimPrefix(r.URL.Path, "/a/")
	id, act, _ := strings.Cut(rest, "/")
	e.Act = act
	if root, err := page.Find(id); err == nil {
		e.Execution = root
	}
	return e
}

// refused writes down a request to act that the guard has refused.
func (s *Server) refused(r *http.Request, status int, why string) {
	s.audit.write(s.entry(r, asked{}, status, why))
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
