package execution

import (
	"errors"
	"strings"

	"github.com/hashicorp/go-multierror"

	"hank/recovery/lock"
)

// Close makes everything durable, saves the state and gives the execution
// back. Every step is taken whatever became of those before it, and all that
// went wrong is in the error.
func (x *Execution) Close() error {
	var failed *multierror.Error
	failed = multierror.Append(failed, x.lastLook())
	x.Lock.Unwatch() // nobody would write what belongs in it
	if x.Broken == nil {
		failed = multierror.Append(failed, x.Journal.Sync())
	}
	return x.CloseAndUnlock(failed)
}

// CloseAndUnlock closes what is open, the locks last. What failed before is in the
// error too.
func (x *Execution) CloseAndUnlock(failed *multierror.Error) error {
	return inOneLine(multierror.Append(x.CloseAll(failed), x.Lock.Release()))
}

// CloseAll closes what is open but for the locks. What has broken the execution
// is known, and is not said again; of one whose directory is lost all that follows
// from it.
func (x *Execution) CloseAll(failed *multierror.Error) *multierror.Error {
	var lost *lock.LostError
	note := func(err error) {
		if err != nil && !errors.Is(err, x.Broken) && !errors.Is(x.Broken, err) && !errors.As(x.Broken, &lost) {
			failed = multierror.Append(failed, err)
		}
	}
	if x.StateWriter != nil {
		note(x.StateWriter.Close())
	}
	if x.Journal != nil {
		note(x.Journal.Close())
	}
	x.Merger.close()
	if x.Store != nil {
		if x.Held() != nil || x.Monitor.WasDeleted() {
			x.Store.Abandon() // the directory that has its name is not the one that it knows
		} else {
			note(x.Store.Close())
		}
	}
	if x.Workspace != nil {
		note(x.Workspace.Close())
	}
	return failed
}

// inOneLine returns what went wrong, as one sentence; nil if nothing did.
func inOneLine(failed *multierror.Error) error {
	if failed.ErrorOrNil() == nil {
		return nil
	}
	failed.ErrorFormat = func(all []error) string {
		said := make([]string, len(all))
		for i, err := range all {
			said[i] = err.Error()
		}
		return strings.Join(said, "; and ")
	}
	return failed
}
