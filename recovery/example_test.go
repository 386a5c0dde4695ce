//go:build unix

package recovery_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"hank/recovery"
	"hank/recovery/execution"
	"hank/state"
)

// An execution is created once, and opened by every command that changes it. What
// was recorded is there again, whatever is damaged: a reader reports what the next
// opening repairs, and writes nothing.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "recovery")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root := filepath.Join(dir, "execution")

	x, err := recovery.Create(ctx, root, recovery.CreateOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := x.Record(state.LimitsSet{Limits: state.Limits{MaxDollars: 5 * state.Dollar}}); err != nil {
		log.Fatal(err)
	}
	if err := x.Close(); err != nil {
		log.Fatal(err)
	}

	// Somebody deletes state.json.
	if err := os.Remove(x.Layout.State()); err != nil {
		log.Fatal(err)
	}
	v, err := recovery.Read(root)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read:", v.State.Limits.MaxDollars.Text())
	fmt.Println("from:", v.Report.Source)
	fmt.Println("findings:", len(v.Report.Findings))

	x, err = recovery.Open(ctx, root, execution.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("opened:", x.State().Limits.MaxDollars.Text())
	if err := x.Close(); err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(x.Layout.State())
	fmt.Println("state.json is there:", err == nil)
	// Output:
	// read: $5.00
	// from: journal
	// findings: 1
	// opened: $5.00
	// state.json is there: true
}
