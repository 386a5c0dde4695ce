// Package failpoint ends the process at a named place, so that the kill tests
// can end it between two steps of a protocol and not only at random moments.
//
// HANK_FAILPOINT=name:n makes the n-th passage of the place name end the
// process as kill -9 would. Without the variable Hit costs one comparison.
package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

var (
	armed   string
	seen    atomic.Int64
	trigger int64
)

func init() {
	name, nth, _ := strings.Cut(os.Getenv("HANK_FAILPOINT"), ":")
	armed, trigger = name, 1
	if n, err := strconv.ParseInt(nth, 10, 64); err == nil {
		trigger = n
	}
}

// Hit ends the process if the failpoint name is armed and this is the passage
// that was asked for. Names are component.step, as in journal.appended.
func Hit(name string) {
	if armed == "" || armed != name {
		return
	}
	if seen.Add(1) == trigger {
		die()
	}
}
