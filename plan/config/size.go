package config

import (
	"fmt"
	"math"
	"regexp"

	"github.com/dustin/go-humanize"

	"hank/plan/fields"
)

// Size is a number of bytes as people write it: 20GB, 1.5GiB, 500MB, 4096.
// Empty is not set.
type Size string

// ParseSize reads a size.
func ParseSize(text string) (Size, error) {
	if ok, err := regexp.MatchString(fields.SizePattern, text); !ok || err != nil {
		return "", fmt.Errorf("%q %s", text, fields.SizeSays)
	}
	return Size(text), nil
}

// Bytes is how many bytes a size is; set is false if it is not set. One that
// is beyond what can be counted is as much as can be.
func (s Size) Bytes() (n int64, set bool) {
	if s == "" {
		return 0, false
	}
	b, err := humanize.ParseBytes(string(s))
	if err != nil || b > math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(b), true
}

// Limit is the size as a limit in bytes; nil if it is not set.
func (s Size) Limit() *int64 {
	if n, set := s.Bytes(); set {
		return &n
	}
	return nil
}
