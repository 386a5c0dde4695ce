package claude

import (
	"bufio"
	"bytes"
	"errors"
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

// answersIn reads the answers in the files of a session, in their order. What cannot be read
// tells nothing.
func answersIn(dir, session string) (all []answer) {
	names, err := sessionFiles(dir, session)
	if err != nil {
		return nil
	}
	at := map[string]int{}
	for _, name := range names {
		for _, a := range answersOf(filepath.Join(dir, name)) {
			if i, known := at[a.id]; known { // a line for each of its blocks
				all[i] = a
				continue
			}
			at[a.id] = len(all)
			all = append(all, a)
		}
	}
	return all
}

func answersOf(path string) (all []answer) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	lines := bufio.NewReaderSize(f, 64<<10)
	var line []byte
	whole := true
	for {
		part, err := lines.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= longestAnswer; whole {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil { // what follows the last newline is torn
			return all
		}
		if whole && bytes.Contains(line, []byte(`"assistant"`)) {
			entry := parse(line)
			message := entry.object("message")
			if entry.text("type") == "assistant" && message.text("stop_reason") != "" && message.text("model") != synthetic && message.text("id") != "" {
				all = append(all, answer{message.text("id"), message.object("usage").tokens()})
			}
		}
		line, whole = line[:0], true
	}
}

// SessionTokens implements harness.Metered. The reader does without; Account cannot.
func (Harness) SessionTokens(req harness.Request) (sum state.Tokens, err error) {
	for _, a := range answersIn(directory(req), req.Session) {
		sum = sum.Add(a.used)
	}
	return sum, nil
}

// Account implements harness.Accounting. The files of agents that the agent has started follow
// its own, so that what a turn has used is what all files have more than before it.
func (Harness) Account(req harness.Request, session string) (all []harness.Usage) {
	dir := req.Env["CLAUDE_CONFIG_DIR"]
	if dir == "" && req.Home != "" { // of a user's login nothing is known here
		dir = filepath.Join(req.Home, ".claude")
	}
	before := req.SessionTokens
	if dir == "" || req.Session != "" && before.Sum() == 0 { // nobody knows where the turn began
		return nil
	}
	var sum state.Tokens
	for _, a := range answersIn(dir, session) {
		sum = sum.Add(a.used)
		used := sum.Minus(before)
		if min(used.Input, used.Output, used.CacheCreation, used.CacheRead) >= 0 && used.Sum() > 0 {
			all = append(all, harness.Usage{Model: req.Model, Tokens: used, PerRequest: true, Context: a.used.Sum()})
		}
	}
	return all
}
