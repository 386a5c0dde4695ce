package load

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/vfs"
	"hank/recovery/layout"
	"hank/state"
	"hank/state/journal"
)

// headSchema is the version of headFile: a head of another version is not read,
// and written again with the next save.
const headSchema = 6

// headFile is a projection: where an execution stood when state.json was last
// saved, and by which files that can be told. A reader that finds the files
// untouched, but for a journal that has grown, follows the journal from there
// and need not read the past. Whatever does not fit is a reason to read all.
//
// Nothing of it is synced: after a crash of the machine it is of another boot,
// and says nothing.
type headFile struct {
	Schema int                     `json:"schema"`
	Boot   string                  `json:"boot"`
	Files  map[string]vfs.Identity `json:"files"` // state.json, its backup, closed segments
	// Journal is the segment that was written to, and End where the events that
	// the head reflects end in it.
	Journal  vfs.Identity  `json:"journal"`
	End      journal.Place `json:"end"`
	Done     int           `json:"done"`
	Planned  int           `json:"planned"`
	From     int           `json:"from"`
	Caveats  state.Caveats `json:"caveats,omitzero"`
	Past     state.USD     `json:"past"`
	Replayed state.USD     `json:"pastReplayed"`
	Worked   int64         `json:"workedNanoseconds"`
	State    string        `json:"state"` // a state.json of its own
}

// trackedFiles are the files that a head depends on, by their paths. Those that
// are not there are not in it, and must stay so.
func trackedFiles(fsys vfs.FS, l layout.Layout) (files map[string]vfs.Identity, ok bool) {
	paths, err := journal.Closed(fsys, l.Events())
	if err != nil {
		return nil, false
	}
	files = map[string]vfs.Identity{}
	for _, path := range append(paths, l.State(), l.State()+".bak") {
		id, told := vfs.Identify(fsys, path)
		if told {
			files[l.Relative(path)] = id
		} else if _, err := fsys.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, false
		}
	}
	return files, true
}

// WriteHead keeps the head of a state that was saved, and whose events end at a
// place of the journal. It is best effort.
func WriteHead(fsys vfs.FS, l layout.Layout, boot string, s *state.State, end journal.Place) {
	files, ok := trackedFiles(fsys, l)
	current, told := vfs.Identify(fsys, journal.Current(l.Events()))
	_, closed := files[l.Relative(journal.ClosedPath(l.Events(), end.First))]
	if !ok || !told || closed || boot == "" {
		return
	}
	h := s.Summary()
	text, err := h.State.Marshal()
	if err != nil {
		return
	}
	body, err := json.Marshal(headFile{Schema: headSchema, Boot: boot, Files: files, Journal: current, End: end,
		Done: h.Done, Planned: h.Planned, From: h.From, Caveats: h.Caveats, Past: h.Past.Cost, Replayed: h.Past.Replayed, Worked: int64(h.Worked), State: string(text)}, json.Deterministic(true))
	if err != nil {
		return
	}
	// The time of the disk belongs to the transitions.
	_ = vfs.ReplaceFile(fsys, l.Head(), fmt.Appendf(body, "\n%x\n", sha256.Sum256(body)), 0o600, vfs.Volatile)
}

// ReadHead returns the head of an execution as it is now, or false. While
// no runtime is running the journal must not have changed at all.
func ReadHead(fsys vfs.FS, l layout.Layout, boot string, live bool) (state.Summary, bool) {
	h, ok := loadHead(fsys, l, boot)
	if !ok {
		return state.Summary{}, false
	}
	files, ok := trackedFiles(fsys, l)
	if !ok || !maps.Equal(files, h.Files) || !h.isOfJournal(fsys, l, live) {
		return state.Summary{}, false
	}
	s, err := state.Unmarshal([]byte(h.State))
	if err != nil {
		return state.Summary{}, false
	}
	head := state.Summary{State: s, Done: h.Done, Planned: h.Planned, From: h.From, Caveats: h.Caveats, Past: state.Bill{Cost: h.Past, Replayed: h.Replayed}, Worked: time.Duration(h.Worked)}
	err = journal.ReadAfter(fsys, l.Events(), h.End, func(e journal.Event) error {
		if e.Type != state.TransitionEvent {
			return nil
		}
		t, err := state.Decode(e.Data)
		if err == nil {
			if head, ok = head.Apply(e.Seq, t); !ok {
				err = errors.New("it takes the whole state")
			}
		}
		return err
	})
	return head, err == nil
}

// isOfJournal reports whether the segment that is written to is the one that the writer had
// before it when it kept the head, and nobody else has changed it since, as far as its identity
// tells: while a runtime is running, it may have grown.
func (h *headFile) isOfJournal(fsys vfs.FS, l layout.Layout, live bool) bool {
	current, told := vfs.Identify(fsys, journal.Current(l.Events()))
	grown := live && current.Inode == h.Journal.Inode && current.Device == h.Journal.Device && current.Size > h.Journal.Size
	return told && (grown || current == h.Journal)
}

// KnownEnd is up to where the writer of an execution vouches for the current segment of its
// journal: it has verified or written all before, in this boot. The zero place: that cannot be
// told, as after a crash. Whoever repairs or promises anything reads the lines all the same.
func KnownEnd(fsys vfs.FS, l layout.Layout, boot string, live bool) journal.Place {
	if h, ok := loadHead(fsys, l, boot); ok && h.isOfJournal(fsys, l, live) {
		return h.End
	}
	return journal.Place{}
}

// ReadNames returns of a state what names are made of: see state.UnmarshalNames. It is false
// unless state.json is the state as it is now, of which the head is: while no runtime is
// running, and as long as the files are those that hank has left in this boot.
func ReadNames(fsys vfs.FS, l layout.Layout, boot, lineage string) (*state.State, bool) {
	head, ok := ReadHead(fsys, l, boot, false)
	if !ok || head.State.Lineage != lineage {
		return nil, false
	}
	text, err := vfs.ReadFile(fsys, l.State())
	if err != nil {
		return nil, false
	}
	if of, seq := state.Peek(text); of != lineage || seq != head.State.Seq {
		return nil, false
	}
	return state.UnmarshalNames(text)
}

func loadHead(fsys vfs.FS, l layout.Layout, boot string) (headFile, bool) {
	var h headFile
	text, err := vfs.ReadFile(fsys, l.Head())
	if err != nil || boot == "" {
		return h, false
	}
	body, sum, _ := bytes.Cut(text, []byte("\n"))
	if string(sum) != fmt.Sprintf("%x\n", sha256.Sum256(body)) || json.Unmarshal(body, &h) != nil {
		return h, false
	}
	return h, h.Boot == boot && h.Schema == headSchema
}
