package plan

// document is a parsed file with the position of everything in it.
type document struct {
	file string
	data []byte
}
