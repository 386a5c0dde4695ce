package layout

import (
	"crypto/rand"
	"strconv"
	"time"

	"hank/state"
)

// NewRunID is the ID of a run that begins: the time in milliseconds, and five random
// characters.
func NewRunID(now time.Time) state.RunID {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	for i := range b {
		b[i] = digits[int(b[i])%len(digits)]
	}
	return state.RunID(strconv.FormatInt(now.UnixMilli(), 10) + "-" + string(b))
}
