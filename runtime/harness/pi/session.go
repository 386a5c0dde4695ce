package pi

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hank/runtime/harness"
)

// session is what the agent is told to continue: the file of the session, or its id where
// there is no such file, so that the agent says so. The file belongs to the workspace then.
//
// Where a session belongs to another directory the agent asks whether it shall copy it,
// and would take the prompt for the answer. Given the file it works in that other
// directory, if it still exists.
func (d directory) session(req harness.Request) (string, error) {
	if strings.ContainsAny(req.Session, `/\`) || strings.HasSuffix(req.Session, ".jsonl") {
		return "", fmt.Errorf("pi: %q is no id of a session", req.Session) // the agent would take it for a file, and begin one
	}
	files, err := os.ReadDir(d.sessions())
	if err != nil {
		return "", fmt.Errorf("pi: %w", err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), "_"+req.Session+".jsonl") {
			continue
		}
		path := filepath.Join(d.sessions(), f.Name())
		if err := belong(path, req.Session, req.Workspace); err != nil {
			return "", fmt.Errorf("pi: the file of session %s: %w", req.Session, err)
		}
		return path, nil
	}
	return req.Session, nil
}

// belong makes a session belong to a workspace, which may have been moved. The directory is
// in the first line of the file alone.
func belong(path, id, workspace string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	rest := bufio.NewReader(in)
	first, err := rest.ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var header map[string]any
	if err := json.Unmarshal(first, &header); err != nil {
		return fmt.Errorf("%s does not begin as one: %w", path, err)
	}
	if header["id"] != id {
		return fmt.Errorf("%s is of another session", path)
	}
	if cwd, _ := header["cwd"].(string); same(cwd, workspace) {
		return nil
	}
	header["cwd"] = workspace
	line, err := json.Marshal(header)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	if _, err := io.Copy(out, rest); err != nil {
		return err
	}
	if err := errors.Join(out.Sync(), out.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// same reports whether two paths are of one directory.
func same(a, b string) bool {
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

// SessionFiles implements harness.Remembering.
func (Harness) SessionFiles(req harness.Request, session string) (string, []string, error) {
	dir := filepath.Join(req.Home, ".pi", "agent")
	names, err := harness.FilesIn(dir, "sessions/*_"+harness.Literal(session)+".jsonl")
	return dir, names, err
}
