package claude

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

// answer is a message of the model that is whole, as the agent's file of the session has it.
type answer struct {
	id   string
	used state.Tokens // the request that it answers
}

// longestAnswer bounds a line that is kept in memory. A longer one is passed over: the
// message then counts as it was printed.
const longestAnswer = 4 << 20

// account follows the agent's files of a session while the agent writes to them.
type account struct {
	dir  string           // the agent's directory
	read map[string]int64 // of each file: so much of it was read
}

func accountIn(dir string) *account { return &account{dir, map[string]int64{}} }

// next reads the answers that have come since the last time, in the order of the files. What
// cannot be read tells nothing.
func (a *account) next(session string) (all []answer) {
	names, err := sessionFiles(a.dir, session)
	if err != nil {
		return nil
	}
	at := map[string]int{}
	for _, name := range names {
		for _, one := range a.answersOf(filepath.Join(a.dir, name)) {
			if i, known := at[one.id]; known { // a line for each of its blocks
				all[i] = one
				continue
			}
			at[one.id] = len(all)
			all = append(all, one)
		}
	}
	return all
}

func (a *account) answersOf(path string) (all []answer) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(a.read[path], io.SeekStart); err != nil {
		return nil
	}
	lines := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	var length int64
	for {
		part, err := lines.ReadSlice('\n')
		if length += int64(len(part)); length <= longestAnswer {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil { // what follows the last newline is torn, or not whole yet
			return all
		}
		if length <= longestAnswer && bytes.Contains(line, []byte(`"assistant"`)) {
			entry := parse(line)
			message := entry.object("message")
			if entry.text("type") == "assistant" && message.text("stop_reason") != "" && message.text("model") != synthetic && message.text("id") != "" {
				all = append(all, answer{message.text("id"), message.object("usage").tokens()})
			}
		}
		a.read[path] += length
		line, length = line[:0], 0
	}
}

// SessionTokens implements harness.Metered. The reader does without; Account cannot.
func (Harness) SessionTokens(req harness.Request) (sum state.Tokens, err error) {
	for _, a := range accountIn(directory(req)).next(req.Session) {
		sum = sum.Add(a.used)
	}
	return sum, nil
}

// leftBy is the directory of an agent that was killed, as far as it is known: of a user's login
// nothing is.
func leftBy(req harness.Request) string {
	if dir := req.Env["CLAUDE_CONFIG_DIR"]; dir != "" || req.Home == "" {
		return dir
	}
	return filepath.Join(req.Home, ".claude")
}

// Account implements harness.Accounting. The files of agents that the agent has started follow
// its own, so that what a turn has used is what all files have more than before it.
func (Harness) Account(req harness.Request, session string) (all []harness.Usage) {
	dir, before := leftBy(req), req.SessionTokens
	if dir == "" || req.Session != "" && before.Sum() == 0 { // nobody knows where the turn began
		return nil
	}
	var sum state.Tokens
	for _, a := range accountIn(dir).next(session) {
		sum = sum.Add(a.used)
		used := sum.Minus(before)
		if min(used.Input, used.Output, used.CacheCreation, used.CacheRead) >= 0 && used.Sum() > 0 {
			all = append(all, harness.Usage{Model: req.Model, Tokens: used, PerRequest: true, Context: a.used.Sum()})
		}
	}
	return all
}
