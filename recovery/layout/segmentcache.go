package layout

import (
	"maps"

	"hank/internal/proc"
	"hank/internal/vfs"
	"hank/state/journal"
)

// Boot is the machine's present boot, empty if it cannot be told.
func Boot() string {
	self, err := proc.Self()
	if err != nil {
		return ""
	}
	return self.BootID
}

// InspectJournal looks at an execution's journal and writes nothing. Closed
// segments that an opening has found whole in this boot, and that nobody has
// touched since, are not read again.
func InspectJournal(l Layout) (journal.Opened, error) {
	return Inspect(vfs.OS, l, Boot(), journal.Place{})
}

// Inspect is InspectJournal in a file system and a boot. Up to end, the current segment is not
// read either.
func Inspect(fsys vfs.FS, l Layout, boot string, end journal.Place) (journal.Opened, error) {
	known := knownSegments(fsys, l, boot)
	known.End = end
	return journal.InspectNew(fsys, l.Events(), known)
}

func knownSegments(fsys vfs.FS, l Layout, boot string) journal.SegmentCache {
	text, err := vfs.ReadFile(fsys, l.segments())
	if err != nil {
		return journal.SegmentCache{}
	}
	return journal.ParseKnown(text, boot)
}

// KeepKnown remembers which segments are whole. It is a projection: what cannot
// be written is found out again.
func KeepKnown(fsys vfs.FS, l Layout, found *journal.Opened, boot string) {
	known := found.Known(boot)
	if boot == "" || maps.Equal(known.Segments, knownSegments(fsys, l, boot).Segments) {
		return
	}
	if text, err := known.Marshal(); err == nil {
		_ = vfs.ReplaceFile(fsys, l.segments(), text, 0o600, vfs.Durable)
	}
}
