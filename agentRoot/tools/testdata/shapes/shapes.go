// Package shapes has one of each form that the tools must tell apart.
package shapes

import (
	"fmt"
	str "strings"
	// "errors" is not imported.
)

// Sides has one comment for all of its names.
const (
	Three, Four = 3, 4
	hidden      = 5
)

const (
	// A comment above a run holds for the whole run.
	Red = iota
	Green

	Blue
	Black  // a comment at the end of the line
	White  /* this one too */
	Slashs = "// no comment"
)

var Quoted = `
// Not a comment.
func NotAFunction() {}
` + "`" + str.Repeat("*/", 2)

/*
Shape has a comment in the other style.
*/
type Shape[T any] struct {
	Width, Height T
}

type (
	// Point has a comment.
	Point = Shape[int]

	Line struct {
		From, To Point
	}
)

// Area has a comment.
func (s *Shape[T]) Area() string { return fmt.Sprint(s.Width, s.Height) }

func (s Shape[T]) String() string {
	return `
type NotAType int
`
}

type private int

// Method is not exported, because its receiver is not.
func (private) Method() {}

//go:noinline
func Instructed() {}

// A comment that a blank line cuts off.

func CutOff(
	a, b int,
) {
}
