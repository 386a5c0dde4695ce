package sentinel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"

	"hank/internal/eventfields"
	config "hank/plan/sentinel"
	"hank/state"
	"hank/state/journal"
	"hank/state/observer"
)

// Watch is what the sentinels of an attempt are told of.
type Watch struct {
	CodonID   state.CodonID
	About     config.AboutCodon
	Workspace string // paths with a slash are relative to it
	Managed   string // where bare names are
	Clock     Clock
	// Follow calls fn for each event from a number on, as (*events.Bus).FollowEarly does. An
	// event need not be durable: what a sentinel makes of it is recorded after it. Last is
	// the number of the newest one that is.
	Follow func(ctx context.Context, from uint64, fn func(journal.Event) error) error
	Last   func() uint64
	From   uint64
}

// Wish is that a sentinel wants the codon stopped or skipped.
type Wish struct {
	Sentinel string
	Action   string // stop or skip
	Reason   string
}

// Note is an event about a sentinel.
type Note struct {
	Type string
	Data any
}

// Set is the sentinels of one attempt. The caller takes what they report, records it, and
// says so; it is not held up by any of them.
type Set struct {
	Watch
	workers []*worker
	cancel  context.CancelFunc // of the workers
	hush    context.CancelFunc // of the feeder
	fed     chan struct{}      // closed when the feeder has ended
	spent   atomic.Bool
	news    chan struct{}

	mu       sync.Mutex
	due      bool // the accounts are to be recorded
	notes    []Note
	wishes   []Wish
	unheard  []chan struct{} // closed when what is in the account has been recorded
	closed   bool
	reached  uint64 // the last event that was fed
	until    uint64 // the last that is to be; 0: not known yet
	complete chan struct{}
}

// Start begins to observe. Nothing of it waits.
func Start(w Watch, list []Loaded) *Set {
	s := &Set{Watch: w, news: make(chan struct{}, 1), fed: make(chan struct{}), complete: make(chan struct{})}
	working, cancel := context.WithCancel(context.Background())
	following, hush := context.WithCancel(context.Background())
	s.cancel, s.hush = cancel, hush
	at := state.At(w.Clock.Now())
	for _, l := range list {
		c := l.Config
		one := &worker{Loaded: l, set: s, watcher: c.Trigger.Watch(), inbox: newInbox(c.Execution, w.Clock), talk: conversation{rules: c.Conversation}, ended: make(chan struct{}),
			account: state.Sentinel{ID: c.ID, Model: l.Model.String(), LoadedAt: at, Status: observer.SentinelActive}}
		name := c.LogFile
		if name == "" {
			name = c.ID + map[bool]string{true: ".jsonl", false: ".md"}[c.Structure != nil || c.JSONL]
		}
		one.log = placeOf(w.Workspace, w.Managed, name)
		if c.LastFile != "" {
			last := placeOf(w.Workspace, w.Managed, c.LastFile)
			one.last = &last
		}
		s.workers = append(s.workers, one)
		if on(c.Report.Lifecycle, true) {
			source := "inline"
			if c.File != "" {
				source = "file"
			}
			s.note("sentinel.loaded", loaded{c.ID, w.CodonID, one.account.Model, c.Trigger.Type, c.Execution.Strategy, c.Conversation != nil, source, c.File})
		}
	}
	s.due = true
	for _, one := range s.workers {
		own, cancel := context.WithCancel(working)
		one.cancel = cancel
		go one.run(own)
	}
	go s.feed(following)
	return s
}

// feed follows the journal.
func (s *Set) feed(ctx context.Context) {
	defer close(s.fed)
	from := s.From
	for {
		err := s.Follow(ctx, from, func(e journal.Event) error {
			s.offer(e)
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reached = e.Seq
			s.arrive()
			return nil
		})
		var gap *journal.GapError
		if !errors.As(err, &gap) || gap.Next <= from && gap.Next <= gap.After {
			return
		}
		from = gap.Next
	}
}

// arrive tells that all events were fed that are to be.
func (s *Set) arrive() {
	if s.until != 0 && s.reached >= s.until {
		select {
		case <-s.complete:
		default:
			close(s.complete)
		}
	}
}

// offer shows an event to the sentinels, if it is for them.
func (s *Set) offer(e journal.Event) {
	known := eventfields.Of(e.Type)
	if known == nil || known.Category != eventfields.Server && known.Category != eventfields.Agent || isAccount(e) {
		return
	}
	seen := config.NewEvent(e.ID, e.Timestamp, e.Type, e.Data)
	if before, ok := s.fileOf(seen); ok {
		s.show(before)
	}
	s.show(seen)
}

func (s *Set) show(e config.Event) {
	for _, w := range s.workers {
		if match := w.watcher.See(e); match != nil {
			w.inbox.add(match)
		}
	}
}

// isAccount reports whether an event only says what was used: a sentinel that waits for
// any event would else wake itself up.
func isAccount(e journal.Event) bool {
	if e.Type != state.TransitionEvent {
		return false
	}
	var of struct {
		Type state.TransitionType `json:"transitionType"`
	}
	_ = json.Unmarshal(e.Data, &of)
	return of.Type == (state.CostsUpdated{}).Type() || of.Type == (state.SentinelsUpdated{}).Type()
}

// writers are the tools that write one file, as the agents call them.
var writers = []string{"Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "write_file", "replace"}

// fileOf is the file.updated that comes before a call of a tool that writes a file: it says
// what the agent is about to do. Those in the journal come when the codon is over.
func (s *Set) fileOf(e config.Event) (config.Event, bool) {
	data, _ := e.Data.(map[string]any)
	tool, _ := data["toolName"].(string)
	if e.Type != "assistant.action" || data["action"] != "tool_use" || !slices.Contains(writers, tool) {
		return config.Event{}, false
	}
	input, _ := data["toolInput"].(map[string]any)
	var at string
	for _, name := range []string{"file_path", "filePath", "notebook_path", "path"} {
		if at, _ = input[name].(string); at != "" {
			break
		}
	}
	if at == "" {
		return config.Event{}, false
	}
	if rel, err := filepath.Rel(s.Workspace, at); err == nil && filepath.IsAbs(at) && filepath.IsLocal(rel) {
		at = rel
	}
	file := map[string]any{"path": filepath.ToSlash(at), "filename": path.Base(filepath.ToSlash(at)), "action": "modified", "sha256": nil, "bytes": nil,
		"source": map[string]any{"kind": "tool_use", "toolUseId": data["toolUseId"]}}
	if content, ok := input["content"].(string); ok {
		file["content"] = content
	}
	return config.Event{ID: e.ID, Time: e.Time, Type: "file.updated", Data: file, Size: e.Size}, true
}

// change changes accounts and notes.
func (s *Set) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	do()
	s.tell()
}

// record is change, and returns what tells when that has been recorded.
func (s *Set) record(do func()) <-chan struct{} {
	heard := make(chan struct{})
	s.change(func() {
		do()
		s.unheard, s.due = append(s.unheard, heard), true
	})
	return heard
}

// told is change, and waits until what has changed was taken. It reports whether it was: the
// worker goes on.
func (s *Set) told(ctx context.Context, do func()) bool {
	heard := make(chan struct{})
	s.change(func() {
		do()
		s.unheard = append(s.unheard, heard)
	})
	select {
	case <-heard:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Set) tell() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// note is called under the lock, or before anybody else knows the set.
func (s *Set) note(eventType string, data any) { s.notes = append(s.notes, Note{eventType, data}) }

// News holds a value when there is something to take.
func (s *Set) News() <-chan struct{} { return s.news }

// Taken is what the sentinels have reported since it was last taken.
type Taken struct {
	Sentinels *state.Sentinels // their accounts; nil: they have not changed
	Notes     []Note
	Wishes    []Wish
	heard     []chan struct{}
}

// Recorded says that the accounts are durable: now the answers are written to their files.
func (t Taken) Recorded() {
	for _, heard := range t.heard {
		close(heard)
	}
}

// Take returns what there is to record.
func (s *Set) Take() Taken {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Taken{Notes: s.notes, Wishes: s.wishes, heard: s.unheard}
	if s.due {
		t.Sentinels = s.accounts()
	}
	s.due, s.notes, s.wishes, s.unheard = false, nil, nil, nil
	return t
}

// accounts are called under the lock.
func (s *Set) accounts() *state.Sentinels {
	all := &state.Sentinels{}
	for _, w := range s.workers {
		one := w.account
		if one.Status == observer.SentinelActive {
			w.count()
			one = w.account
		}
		all.Loaded = append(all.Loaded, one)
		all.TotalCost += one.TotalCost
	}
	return all
}

// Trouble is what went wrong with a sentinel, for the person who started the run.
type Trouble struct {
	Last      string // its last failure
	Unwritten int    // answers that could not be written to its files
	Write     string // why the last of them could not
}

// TroubleOf is what went wrong with a sentinel.
func (s *Set) TroubleOf(id string) Trouble {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if w.Config.ID == id {
			return w.trouble
		}
	}
	return Trouble{}
}

// Cost is what they have cost so far.
func (s *Set) Cost() (sum state.USD) {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		sum += w.account.TotalCost
	}
	return sum
}

// StopAsking says that no more may be spent.
func (s *Set) StopAsking() { s.spent.Store(true) }

// Finish lets the sentinels finish: what is durable by now is fed, then a last event, and
// what is waiting becomes a last batch. The channel is closed when each has done its part, or
// has had its time for it.
func (s *Set) Finish(last []config.Event) <-chan struct{} {
	began, done := time.Now(), make(chan struct{})
	s.mu.Lock()
	s.until = max(s.Last(), 1)
	s.arrive()
	s.mu.Unlock()
	go func() {
		defer close(done)
		select {
		case <-s.complete:
		case <-s.fed:
		}
		s.hush()
		<-s.fed
		for _, e := range last {
			s.show(e)
		}
		for _, w := range s.workers {
			w.inbox.close()
		}
		byTime := func(a, b *worker) int { return cmp.Compare(a.Config.Settings.Drain(), b.Config.Settings.Drain()) }
		for _, w := range slices.SortedFunc(slices.Values(s.workers), byTime) {
			most := w.Config.Settings.Drain()
			select {
			case <-w.ended:
			case <-time.After(time.Until(began.Add(most))):
				s.mu.Lock()
				w.late = TimeOver(most)
				s.mu.Unlock()
				w.cancel()
			}
		}
	}()
	return done
}

// TimeOver says when the time that a sentinel had to finish was over.
func TimeOver(drain time.Duration) string {
	return fmt.Sprintf("%s after the work of the codon had ended", drain)
}

// Drain is how long the sentinels may take to finish: the longest that one of them has.
func (s *Set) Drain() (longest time.Duration) {
	for _, w := range s.workers {
		longest = max(longest, w.Config.Settings.Drain())
	}
	return longest
}

// patience is how long Close waits for those that it has ended.
const patience = time.Second

// Close ends what is not finished, with the reason and in words when that was. Nothing is
// written, noted or counted afterwards; Take returns what is left.
func (s *Set) Close(reason, when string) {
	s.hush()
	s.cancel()
	over := time.After(patience)
	for _, w := range s.workers {
		select {
		case <-w.ended:
		case <-over:
			over = time.After(0)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, w := range s.workers {
		triggers, _, _ := w.inbox.left()
		var cut []string
		if triggers > 0 {
			cut = append(cut, count(triggers, "trigger"))
		}
		if w.account.OpenCalls > 0 {
			cut = append(cut, count(w.account.OpenCalls, "open call")+" (its cost is in no figure)")
		}
		if len(cut) > 0 && w.account.Status == observer.SentinelActive {
			w.account.Cut = strings.Join(cut, " and ") + " cut " + cmp.Or(w.late, when)
		}
		w.account.DroppedTriggers += triggers
		w.unload(reason, "")
	}
	s.due, s.closed = true, true
	s.unheard = nil // whoever waits has been ended
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
