package keeper

import "fmt"

// ReapNames is Reap, with what was left running by process id and command.
func ReapNames(attempt string) ([]string, error) {
	left, err := Reap(attempt)
	names := make([]string, len(left))
	for i, l := range left {
		names[i] = fmt.Sprintf("%d (%s)", l.PID, l.Command)
	}
	return names, err
}
