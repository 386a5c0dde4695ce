package codex

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"hank/runtime/harness"
	"hank/state"
)

// rollout follows the agent's file of a thread while the agent writes to it. A nil one
// has nothing.
type rollout struct {
	home   string // the agent's directory
	thread string
	path   string // empty: not found yet; the agent begins the file with the first turn
	offset int64  // of what was not read yet
	told   bool   // it has records, which come before the counts and go on where these begin anew
}

// entry is a line of the file that counts.
type entry struct {
	total     state.Tokens // of the thread, the ended request included
	last      state.Tokens // of that request
	compacted bool         // the agent made its context smaller; there is no total
	count     bool         // as the events count
}

// directory is the agent's directory for a request; empty if it is not known.
func directory(req harness.Request) string {
	if dir := req.Env["CODEX_HOME"]; dir != "" {
		return dir
	}
	if req.Home == "" {
		return ""
	}
	return ownDirectory(req)
}

// follow begins to follow the file of a request's thread, from its present end on.
func follow(req harness.Request) *rollout {
	dir := directory(req)
	if dir == "" {
		return nil
	}
	r := &rollout{home: dir}
	if req.Session != "" {
		r.of(req.Session)
		r.read()
	}
	return r
}

// of names the thread.
func (r *rollout) of(thread string) {
	if r != nil && r.thread == "" && filepath.Base(thread) == thread {
		r.thread = thread
	}
}

// find finds the file of the thread.
func (r *rollout) find() {
	if r == nil || r.path != "" || r.thread == "" {
		return
	}
	if names, err := files(r.home, r.thread); err == nil && len(names) > 0 {
		r.path = filepath.Join(r.home, names[len(names)-1])
	}
}

// files are the names of the files of a thread in the agent's directory.
func files(dir, thread string) ([]string, error) {
	return harness.FilesIn(dir, "sessions/*/*/*/rollout-*-"+harness.Literal(thread)+".jsonl")
}

// SessionTokens implements harness.Metered. The file has them of an attempt that was
// killed too, and of one that a rollback has left.
func (Harness) SessionTokens(req harness.Request) (state.Tokens, error) {
	r := &rollout{home: directory(req)}
	r.of(req.Session)
	if r.find(); r.path == "" {
		return state.Tokens{}, nil // nor can the agent continue it
	}
	if _, err := os.Stat(r.path); err != nil {
		return state.Tokens{}, err
	}
	var total state.Tokens
	for _, e := range r.read() {
		if !e.compacted {
			total = e.total
		}
	}
	return total, nil
}

// Account implements harness.Accounting. A turn of a thread that is continued begins after the
// entry with the count that the thread had before. Where there is none, the last entry alone
// tells what the thread has more.
func (Harness) Account(req harness.Request, thread string) (all []harness.Usage) {
	r := &rollout{home: directory(req)}
	if r.home == "" {
		return nil
	}
	r.of(thread)
	entries, m := r.read(), meter{model: req.Model, thread: req.SessionTokens, rollout: r}
	if req.SessionTokens.Sum() > 0 {
		from := max(0, len(entries)-1)
		for i, e := range entries {
			if d := e.total.Minus(req.SessionTokens); !e.compacted && !less(d) && d.Sum() == 0 {
				from = i + 1
			}
		}
		entries = entries[from:]
	}
	for _, e := range entries {
		if !e.compacted && m.request(e) {
			all = append(all, m.usage())
		}
	}
	return all
}

// longestEntry bounds a line that is kept in memory. A longer one is passed over: those
// that count are short.
const longestEntry = 1 << 20

// read returns what was written since the last time, as far as lines are whole.
func (r *rollout) read() (all []entry) {
	if r.find(); r == nil || r.path == "" {
		return nil
	}
	f, err := os.Open(r.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(r.offset, io.SeekStart); err != nil {
		return nil
	}
	lines := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	var length int64
	for {
		part, err := lines.ReadSlice('\n')
		length += int64(len(part))
		if len(line)+len(part) <= longestEntry {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return all
		}
		if r.offset += length; int64(len(line)) == length {
			if e, counts := parseEntry(line); counts && !(r.told && e.count) {
				r.told = r.told || !e.count && !e.compacted
				all = append(all, e)
			}
		}
		line, length = line[:0], 0
	}
}

// parseEntry reads a line of the file. Most are what was said and done.
func parseEntry(line []byte) (e entry, counts bool) {
	if !bytes.Contains(line, []byte(`token_`)) && !bytes.Contains(line, []byte("compacted")) {
		return e, false
	}
	var l struct {
		Type    string `json:"type"`
		Payload struct {
			Type string `json:"type"`
			Info *struct {
				Total usage `json:"total_token_usage"`
				Last  usage `json:"last_token_usage"`
			} `json:"info"`
			Total *usage `json:"thread_token_usage"`
			Last  usage  `json:"usage"`
		} `json:"payload"`
	}
	if !parse(line, &l) {
		return e, false
	}
	p := l.Payload
	switch {
	case l.Type == "compacted":
		return entry{compacted: true}, true
	case l.Type == "token_usage_record" && p.Total != nil:
		return entry{total: p.Total.tokens(), last: p.Last.tokens()}, true
	case l.Type == "event_msg" && p.Type == "token_count" && p.Info != nil:
		return entry{total: p.Info.Total.tokens(), last: p.Info.Last.tokens(), count: true}, true
	}
	return e, false
}

// SessionFiles implements harness.Remembering: the rollout of the thread.
func (Harness) SessionFiles(req harness.Request, session string) (string, []string, error) {
	dir := directory(req)
	if dir == "" {
		return "", nil, nil
	}
	names, err := files(dir, session)
	return dir, names, err
}
