// Package shell is the harness that needs no agent: the prompt is a script for
// sh. Hanks that only compute use it, and so do the tests of everything else.
//
// # What a script sees
//
// The caller's environment, the codon's variables, and
//
//	HANK_WORKSPACE   the workspace, which is also the working directory
//	HANK_SESSION     the session's id; a continuing codon gets its predecessor's
//	HANK_ATTEMPT     the name of this attempt
//	HANK_ATTEMPT_NUMBER  1 for the first attempt of the run, and so on
//	TMPDIR           a directory that is removed with the attempt
//
// Its standard input is empty. Exit status 0 is success, everything else a
// failure that may be tried again.
//
// # What a script can say
//
// A line of the standard output that begins with "::hank " is a report:
//
//	::hank usage {"model":"m","inputTokens":1,"outputTokens":2,"costUSD":0.5,"context":3}
//	::hank context-exceeded [why]
//	::hank retry-after SECONDS
//
// usage adds to what was reported before (cacheCreationTokens and
// cacheReadTokens may be in it, too; context is the size of the last request
// and does not add up). context-exceeded says that the context window is full;
// it is no failure by itself. retry-after is the least time to wait before the
// next try, if the script fails. A report that cannot be read is an ordinary
// line. So a script can stand for an agent in every respect that loops,
// budgets and costs depend on.
package shell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"hank/runtime/harness"
)

// Name is the harness's word in records, and its model in hank.json.
const Name = "shell"

// Harness runs scripts.
type Harness struct{}

var _ harness.Harness = Harness{}

// Name implements harness.Harness.
func (Harness) Name() string { return Name }

// bootstrap reads the script from the standard input and runs it with an empty
// one. So a script may be of any length, where an argument may not pass 128
// KiB on Linux; it is in no file that a later reader must trust; it is not in
// the list of processes; and a command that reads its standard input does not
// eat the rest of the script. The script begins on line 1, as messages count.
const bootstrap = `exec 3<&0 </dev/null; eval "exec 3<&-; $(cat <&3)"`

// brief is bootstrap for a short script: reading it byte by byte takes less than starting
// cat. It is for printable ASCII only, because some shells' read changes other bytes.
const (
	brief = `exec 3<&0 </dev/null; __script=; while IFS= read -r __line <&3; do __script=$__script$__line'
'; done; eval "unset __script __line; exec 3<&-; $__script$__line"`
	mostOfBrief = 2 << 10
)

// started returns how a script is started, and what its shell reads. Both are as $(…) has
// it: the newlines at its end do not count.
func started(script string) (with, read string) {
	plain := len(script) <= mostOfBrief && !strings.ContainsFunc(script, func(r rune) bool {
		return r != '\n' && r != '\t' && (r < ' ' || r > '~')
	})
	if plain {
		return brief, strings.TrimRight(script, "\n")
	}
	return bootstrap, script
}

// Command implements harness.Harness.
func (Harness) Command(req harness.Request) (harness.Command, error) {
	if req.Workspace == "" {
		return harness.Command{}, errors.New("shell: the request names no workspace")
	}
	if i := strings.IndexByte(req.Prompt, 0); i >= 0 {
		return harness.Command{}, fmt.Errorf("shell: the script holds a NUL byte at offset %d, which sh cannot read; remove it", i)
	}
	env := harness.BaseEnviron(req)
	env["HANK_SESSION"] = session(req)
	with, script := started(req.Prompt)
	return harness.Command{
		Args:       []string{"sh", "-c", with, "codon"},
		Env:        env.Finish(req.Env),
		Dir:        req.Workspace,
		Stdin:      []byte(script),
		StopSignal: syscall.SIGTERM,
		StopGrace:  5 * time.Second,
		Session:    session(req),
	}, nil
}

// session is the session to continue, or the one that this attempt begins:
// the same in every process that asks.
func session(req harness.Request) string {
	if req.Session != "" {
		return req.Session
	}
	sum := sha256.Sum256([]byte(req.Attempt))
	return "shell-" + hex.EncodeToString(sum[:8])
}

// Reader implements harness.Harness.
func (Harness) Reader(req harness.Request) harness.Reader {
	return &reader{session: session(req)}
}

// Check implements harness.Harness.
func (Harness) Check(_ context.Context, env []string) harness.Check {
	path := harness.LookPath("sh", harness.NewEnviron(env))
	if path == "" {
		return harness.Check{LoggedIn: true, Problem: "sh not found on PATH (required for shell codons); install a POSIX shell or set PATH"}
	}
	return harness.Check{Found: true, Path: path, LoggedIn: true}
}

// LoginFiles implements harness.Harness. A script has no login.
func (Harness) LoginFiles([]string) []string { return nil }

// Permission implements harness.Harness. The author of the hank wrote the script.
func (Harness) Permission() string { return "" }
