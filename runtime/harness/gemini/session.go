package gemini

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"

	"hank/runtime/harness"
)

// session follows the agent's file of a session while the agent writes to it, and those of
// the helpers that it starts. A nil one has nothing.
type session struct {
	dir     string // the agent's directory
	id      string
	path    string           // empty: not found yet
	offsets map[string]int64 // of what was not read yet, by file
}

// follow begins to follow the file of a request's session, from its present end on. The
// messages that are there already are known.
func follow(req harness.Request) (s *session, known []record) {
	dir := directory(req)
	if dir == "" {
		return nil, nil
	}
	s = &session{dir: dir, offsets: map[string]int64{}}
	if req.Session != "" {
		s.of(req.Session)
		known = s.read()
	}
	return s, known
}

// directory is the agent's directory for a request; empty if it is not known.
func directory(req harness.Request) string {
	switch {
	case req.Env["GEMINI_CLI_HOME"] != "":
		return filepath.Join(req.Env["GEMINI_CLI_HOME"], ".gemini")
	case req.Home != "":
		return ownDirectory(req)
	}
	return ""
}

// SessionFiles implements harness.Remembering: the conversation, and those of the helpers
// that the agent has started.
func (Harness) SessionFiles(req harness.Request, id string) (string, []string, error) {
	s := session{dir: directory(req), id: id}
	if s.dir == "" || filepath.Base(id) != id || !s.find() {
		return s.dir, nil, nil
	}
	rel, err := filepath.Rel(s.dir, s.path)
	if err != nil {
		return s.dir, nil, err
	}
	rel = filepath.ToSlash(rel)
	helpers, err := harness.FilesIn(filepath.Dir(s.path), harness.Literal(id))
	names := []string{rel}
	for _, name := range helpers {
		names = append(names, path.Dir(rel)+"/"+name)
	}
	return s.dir, names, err
}

// SessionPlace implements harness.Placed: the agent writes the directory beside the
// conversations that began in it.
func (Harness) SessionPlace(req harness.Request, id string) string {
	s := session{dir: directory(req), id: id}
	if s.dir == "" || filepath.Base(id) != id || !s.find() {
		return ""
	}
	place, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(s.path)), ".project_root"))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(place))
}

// of names the session.
func (s *session) of(id string) {
	if s != nil && s.id == "" && filepath.Base(id) == id {
		s.id = id
	}
}

// shortID is how much of its id the name of a session's file has.
const shortID = 8

// find finds the file of the session. Its name has only the beginning of the id; the first
// line has all of it.
func (s *session) find() bool {
	if s == nil || s.id == "" {
		return false
	}
	if s.path != "" {
		return true
	}
	short := s.id[:min(shortID, len(s.id))]
	names, err := harness.FilesIn(s.dir, "tmp/*/chats/session-*-"+harness.Literal(short)+".jsonl")
	if err != nil {
		return false
	}
	for _, name := range names {
		if path := filepath.Join(s.dir, name); sessionOf(path) == s.id {
			s.path = path
			return true
		}
	}
	return false
}

// sessionOf is the id that the first line of a file has.
func sessionOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, longestRecord)).ReadBytes('\n')
	var r record
	parse(line, &r)
	return r.Session
}

// longestRecord bounds a line that is kept in memory. A longer one is passed over: a
// message has its count when it is first written, and grows by what tools have answered.
const longestRecord = 1 << 20

// read returns the messages that were written since the last time, as far as lines are
// whole.
func (s *session) read() (all []record) {
	if !s.find() {
		return nil
	}
	all = s.readFile(s.path)
	chats := filepath.Dir(s.path)
	helpers, err := harness.FilesIn(chats, harness.Literal(s.id)+"/*.jsonl")
	if err != nil {
		return all
	}
	for _, name := range helpers {
		for _, r := range s.readFile(filepath.Join(chats, name)) {
			r.helper = true
			all = append(all, r)
		}
	}
	return all
}

func (s *session) readFile(path string) (all []record) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(s.offsets[path], io.SeekStart); err != nil {
		return nil
	}
	lines := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	var length int64
	for {
		part, err := lines.ReadSlice('\n')
		length += int64(len(part))
		if len(line)+len(part) <= longestRecord {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return all
		}
		if s.offsets[path] += length; int64(len(line)) == length && bytes.Contains(line, []byte(`"type"`)) {
			var r record
			if parse(line, &r) && r.ID != "" && r.Type != "" {
				all = append(all, r)
			}
		}
		line, length = line[:0], 0
	}
}
