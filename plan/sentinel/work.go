package sentinel

import (
	"errors"
	"fmt"
	"time"
)

// What one rendering may come to: bytes of text, steps (a place that is filled in, an
// item that is gone through, a member that is looked up), and time.
const (
	mostText  = 4 << 20
	mostSteps = 500_000
	mostTime  = 5 * time.Second
)

// TemplateError says what is wrong with a template, and where.
type TemplateError struct {
	Offset  int // in bytes
	Message string
	Hint    string
}

func (e *TemplateError) Error() string { return e.Message }

var (
	errTooLong = fmt.Errorf("the prompt would have more than %d bytes", mostText)
	errTooMuch = errors.New("filling in the template takes too long")
)

// work is what a rendering has done so far.
type work struct {
	steps int
	bytes int
	until time.Time
}

// made counts bytes of text that were made on the way.
func (w *work) made(n int) error {
	if w.bytes += n; w.bytes > 4*mostText {
		return errTooLong
	}
	if time.Now().After(w.until) {
		return errTooMuch
	}
	return nil
}

// text is a text that was made on the way, counted.
func (w *work) text(s string) (string, error) { return s, w.made(len(s)) }

// step counts one.
func (w *work) step() error {
	if w.steps++; w.steps > mostSteps || w.steps%64 == 0 && time.Now().After(w.until) {
		return errTooMuch
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
