package state

import (
	"time"

	"hank/state/instant"
)

// Time is instant.Time.
type Time = instant.Time

// At is instant.At.
func At(t time.Time) Time { return instant.At(t) }
