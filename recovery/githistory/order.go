package githistory

import "hank/checkpoint"

// SeqOf returns the number of the journal's event that a checkpoint carries; 0
// if it carries none that this hank can read. Unlike times, the numbers of an
// execution always grow from parent to child.
func SeqOf(info checkpoint.Info) uint64 {
	record, _, err := ReadRecord(info)
	if err != nil {
		return 0
	}
	return record.Seq
}
