package term

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
)

// Painted is text that may hold colours of hank's own: what it has of others is
// Printable already.
type Painted string

// Fprintf is fmt.Fprintf for the user's eyes: what an argument has of others'
// making (a name, a path, a message) is made Printable, and only what is Painted
// stays as it is.
func Fprintf(out io.Writer, format string, args ...any) error {
	_, err := io.WriteString(out, string(Sprintf(format, args...)))
	return err
}

// Sprintf is Fprintf into a text.
func Sprintf(format string, args ...any) Painted {
	shown := make([]any, len(args))
	for i, a := range args {
		shown[i] = printable(a)
	}
	return Painted(fmt.Sprintf(format, shown...))
}

// Lines returns a writer that passes on whole lines, each Printable. Close passes
// on what has no end.
func Lines(out io.Writer) io.WriteCloser { return &lines{out: out} }

type lines struct {
	out  io.Writer
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	_, err := io.WriteString(l.out, Printable(string(l.rest[:end])))
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(p), err
}

func (l *lines) Close() error {
	_, err := io.WriteString(l.out, Printable(string(l.rest)))
	return err
}

// printable is an argument of a format without what would steer a terminal.
func printable(a any) any {
	switch a := a.(type) {
	case Painted:
		return a
	case string:
		return Printable(a)
	case error:
		return Printable(a.Error())
	}
	s, speaks := a.(fmt.Stringer)
	switch kind := reflect.ValueOf(a).Kind(); {
	case speaks && (kind == reflect.String || kind == reflect.Struct || kind == reflect.Pointer):
		return Printable(s.String())
	case kind == reflect.String:
		return Printable(reflect.ValueOf(a).String())
	}
	return a // a number, which prints as it is
}
