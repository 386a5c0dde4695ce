package opencode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hank/runtime/harness"
)

// A session belongs to the directory that it was begun in. The agent continues it in another
// one without a word: the model is asked, its answer is never printed, and the agent does not
// end. An execution can be moved. So the home has a list of the directories that the agent
// was started in, and since when. The id of a session says when it was begun.

// stay is an entry of the list.
type stay struct {
	Since     int64  `json:"since"` // milliseconds of Unix time
	Directory string `json:"directory"`
}

// staysName is the name of the list in the home: a line of JSON for each stay.
const staysName = "directories.jsonl"

// checkDirectory adds the workspace to the list, and reports an error for a session that
// was begun elsewhere.
func checkDirectory(req harness.Request, now time.Time) error {
	file := filepath.Join(req.Home, staysName)
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	stays := staysOf(text)
	if len(stays) == 0 || stays[len(stays)-1].Directory != req.Workspace {
		here := stay{now.UnixMilli(), req.Workspace}
		line, err := json.Marshal(here)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, append(append(text, line...), '\n'), 0o600); err != nil {
			return err
		}
		stays = append(stays, here)
	}
	if there := placeOf(stays, req.Session, now); there != "" && there != req.Workspace {
		return fmt.Errorf("session %s was begun in %s, and the agent can continue it only there; the workspace is now %s: begin a new session (continuationMode fresh), or move the execution back", req.Session, there, req.Workspace)
	}
	return nil
}

// staysOf reads the list.
func staysOf(text []byte) (stays []stay) {
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var s stay
		if json.Unmarshal(lines.Bytes(), &s) == nil && s.Directory != "" {
			stays = append(stays, s)
		}
	}
	return stays
}

// placeOf is where a session was begun; empty if that is not known.
func placeOf(stays []stay, session string, now time.Time) (place string) {
	began, known := beginning(session, now)
	for _, s := range stays {
		if known && s.Since <= began.UnixMilli() {
			place = s.Directory
		}
	}
	return place
}

// SessionPlace implements harness.Placed.
func (Harness) SessionPlace(req harness.Request, session string) string {
	text, err := os.ReadFile(filepath.Join(req.Home, staysName))
	if err != nil {
		return ""
	}
	return placeOf(staysOf(text), session, time.Now())
}

// beginning is when a session was begun: its id has the time, in milliseconds and counting
// down, with 12 more bits, of which 48 bits are left. They come again after two years.
func beginning(session string, now time.Time) (time.Time, bool) {
	const digits, spare, bits = 12, 12, 48
	id, is := strings.CutPrefix(session, "ses_")
	if !is || len(id) < digits {
		return time.Time{}, false
	}
	n, err := strconv.ParseUint(id[:digits], 16, 64)
	if err != nil {
		return time.Time{}, false
	}
	const round = int64(1) << (bits - spare)
	low := int64((^n & (1<<bits - 1)) >> spare)
	soon := now.UnixMilli() + time.Hour.Milliseconds() // a clock that was set back
	return time.UnixMilli(soon - ((soon-low)%round+round)%round), true
}

// SessionFiles implements harness.Remembering: the database, which has all sessions of the
// execution. Those that came later are in what was kept with their own codons. The index of
// its log (-shm) is made anew from the log.
func (Harness) SessionFiles(req harness.Request, _ string) (string, []string, error) {
	dir := filepath.Join(req.Home, dataDirectory)
	names, err := harness.FilesIn(dir, "opencode.db", "opencode.db-wal")
	return dir, names, err
}
