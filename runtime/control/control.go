// Package control lets other processes of the same user talk to a live run: stop,
// stop after the codon, skip, ask for its status, follow its events.
//
// A run listens on a Unix socket of mode 0600. Each line of a client is one request;
// each line back is an answer or an update. All are JSON objects, in UTF-8.
//
// # Version 2
//
// A request has an id that the client chooses, from 1 on; every line that it leads
// to repeats it. A connection carries any number of requests, one after the other.
//
//	→ {"version":2,"id":1,"command":"status"}
//	← {"version":2,"id":1,"ok":true,"status":{"runId":"…","cost":0.42,…}}
//	→ {"version":2,"id":2,"command":"launch"}
//	← {"version":2,"id":2,"ok":false,"error":"unknown command launch; …"}
//
// Arguments are an object. A command refuses arguments that it does not know, lest
// it does something else than it was told.
//
// A request with "confirm":true is carried out only once its client has confirmed
// it, and anything but its confirmation makes the run forget it. So what was asked
// of a run that does not answer, because it is suspended or hangs, never comes to
// pass after its client has gone:
//
//	→ {"version":2,"id":3,"command":"stop","confirm":true}
//	← {"version":2,"id":3,"ok":true,"confirm":true}
//	→ {"version":2,"id":3,"command":"confirm"}
//	← {"version":2,"id":3,"ok":true}
//
// A connection may have one subscription, see [Subscription]. Its updates come
// between the answers to other requests:
//
//	→ {"version":2,"id":4,"command":"subscribe","arguments":{"events":true,"from":17}}
//	← {"version":2,"id":4,"ok":true}
//	← {"version":2,"id":4,"event":{"seq":17,"id":"…","timestamp":"…","type":"…","data":{…}}}
//	← {"version":2,"id":4,"missed":{"after":17,"next":20}}
//	← {"version":2,"id":4,"end":true}
//
// "missed" says that the run could not read the events between these numbers; "end"
// that the run has sent all events and is over. A client that does not read for idle
// seconds is disconnected; what it has not had is in the journal.
//
// # Version 1
//
// Requests have no id and no arguments, and there is no subscription:
//
//	→ {"version":1,"command":"stop","confirm":true}
//	← {"version":1,"ok":true,"confirm":true}
//	→ {"version":1,"command":"confirm"}
//	← {"version":1,"ok":true}
//
// A server answers each request in its version. A client begins with version 2; the
// answer of a server that only knows version 1 says so, has carried nothing out, and
// makes the client continue in version 1 on the same connection.
//
// # Bounds
//
// A connection that sends nothing for idle seconds and has no subscription is closed.
// A longer line than longestLine is an error and ends the connection. There are
// maxConnections at most: for one more the one without a subscription is closed of which
// nothing has come for the longest time. Of them maxSubscriptions may have one; more are
// refused.
//
// The address of a Unix socket has at most 104 bytes on some systems: where the
// execution's path is longer, the socket is in a short private directory, and a file
// of the wanted name has its path.
package control

import (
	"errors"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/state"
	"hank/state/journal"
)

// newestVersion is the newest version of the protocol.
const newestVersion = 2

// Bounds of a server.
const (
	longestLine      = 512 << 10 // the longest reply at a gate has 64,000 bytes, and JSON may take six for each
	maxConnections   = 16
	maxSubscriptions = maxConnections / 2
	idle             = 10 * time.Second
	grace            = time.Second // for what is to be sent when a server closes
	longestAddress   = 100         // bytes; sun_path has 104 on macOS and 108 on Linux
)

// The commands that a server itself carries out.
const (
	confirmation = "confirm"   // of the request before it
	subscription = "subscribe" // see Subscription
)

// Request is what a client asks for.
type Request struct {
	Version   int            `json:"version"`
	ID        uint64         `json:"id,omitzero"`
	Command   string         `json:"command"`
	Arguments jsontext.Value `json:"arguments,omitempty"`
	Confirm   bool           `json:"confirm,omitzero"` // to be carried out once the client has confirmed it
	Peer      int            `json:"-"`                // the process that asks; 0 is one outside of this PID namespace, -1 unknown
}

// Response is what a run answers.
type Response struct {
	Version int            `json:"version"`
	ID      uint64         `json:"id,omitzero"`
	OK      bool           `json:"ok"`
	Error   string         `json:"error,omitempty"`
	Denied  bool           `json:"denied,omitzero"` // the client may not ask for it
	Stale   bool           `json:"stale,omitzero"`  // what the request is for has ended
	Status  jsontext.Value `json:"status,omitempty"`
	Confirm bool           `json:"confirm,omitzero"` // the request waits to be confirmed
	Loop    state.CodonID  `json:"loop,omitempty"`   // whose command a skip ends: no codon is running
}

// Subscription is what a client wants to be told from now on: the arguments of
// subscribe.
type Subscription struct {
	Events bool `json:"events,omitzero"`
	// From is the number of the first event; 0 is the next one.
	From uint64 `json:"from,omitzero"`
	// Early wants events when they are in the journal, not only when they are durable:
	// what a power cut removes was sent, too.
	Early bool `json:"early,omitzero"`
	// Status wants the answer to status, now and whenever it changes.
	Status bool `json:"status,omitzero"`
}

// Update is a line of a subscription. One of its members is set.
type Update struct {
	Version int            `json:"version"`
	ID      uint64         `json:"id"`
	Event   *Event         `json:"event,omitempty"`
	Status  jsontext.Value `json:"status,omitempty"`
	Missed  *Missed        `json:"missed,omitempty"`
	End     bool           `json:"end,omitzero"`
}

// Event is an event of the journal.
type Event struct {
	Seq       uint64         `json:"seq"`
	ID        string         `json:"id"`
	Timestamp time.Time      `json:"timestamp"`
	Type      string         `json:"type"`
	Data      jsontext.Value `json:"data"`
}

// Missed says which events cannot be told: those after After and before Next.
type Missed struct {
	After uint64 `json:"after"`
	Next  uint64 `json:"next"`
}

// EventOf is an event as it is sent.
func EventOf(e journal.Event) *Event { return &Event{e.Seq, e.ID, e.Timestamp, e.Type, e.Data} }

// ErrNotRunning says that nobody listens.
var ErrNotRunning = errors.New("no hank is running there")

// errNoArguments is what a run answers that would carry out more than it was asked for.
const errNoArguments = "the run is one of an older hank, which knows no arguments: without them it is asked whatever it is doing"

// errOldVersion says that a run knows no subscriptions.
var errOldVersion = errors.New("the run is one of an older hank, which cannot be followed through its control socket")

// The errors of a run that does not answer.
var (
	// ErrNoAnswer: it has not taken the request, and never will.
	ErrNoAnswer = errors.New("the run does not answer; the request is withdrawn")
	// ErrNotKnown: it has been told to carry the request out, and has not
	// answered that it did.
	ErrNotKnown = errors.New("the run has taken the request and does not answer any more; it may still carry it out")
)

// line is a value as it is sent.
func line(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}
