// Package instant has the times that records are made of: in UTC, to the millisecond, as
// ISO 8601. It reads no clock.
package instant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Time is an instant in UTC with millisecond precision, in JSON as ISO 8601.
type Time struct{ time.Time }

// At converts, dropping what is below a millisecond.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes 2006-01-02T15:04:05.000Z.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if n := len(b); n > 2 && b[0] == '"' && b[n-1] == '"' && bytes.IndexByte(b, '\\') < 0 {
		s = string(b[1 : n-1]) // as it always is: there is one in every record, and more
	} else if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a time must be a string, not %.40s", b)
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("%q is not an ISO 8601 time", s)
	}
	t.Time = parsed.UTC()
	return nil
}
