//go:build unix

package checkpoint_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"hank/checkpoint"
	"hank/checkpoint/worktree"
)

// A snapshot finds what is in a workspace; a commit makes it durable; a reference
// keeps it.
func Example() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	workspace := filepath.Join(dir, "workspace")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(workspace, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.Mkdir(workspace, 0o755); err != nil {
		log.Fatal(err)
	}
	write("draft.txt", "a first draft\n")
	write("scratch.tmp", "nothing worth keeping\n")
	write(".gitignore", "*.tmp\n")

	store, err := checkpoint.Init(checkpoint.Options{Dir: filepath.Join(dir, "store")})
	if err != nil {
		log.Fatal(err)
	}
	ws, err := worktree.OpenWorkspace(workspace)
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()

	ctx := context.Background()
	snap, err := store.Snapshot(ctx, checkpoint.SnapshotRequest{Workspace: ws, Selection: checkpoint.Selection{All: true}})
	if err != nil {
		log.Fatal(err)
	}
	sha, err := store.Commit(ctx, checkpoint.CommitRequest{Tree: snap.Tree, Message: "first draft", When: time.Date(2026, 1, 2, 9, 0, 0, 0, time.UTC)})
	if err != nil {
		log.Fatal(err)
	}
	if err := store.SetRef("refs/heads/main", "", sha); err != nil {
		log.Fatal(err)
	}
	fmt.Println(snap.Files, "files recorded")
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}

	// Another process reads it, whatever became of the workspace.
	write("draft.txt", "something else\n")
	store, err = checkpoint.Open(checkpoint.Options{Dir: filepath.Join(dir, "store"), ReadOnly: true})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	tip, err := store.Ref("refs/heads/main")
	if err != nil {
		log.Fatal(err)
	}
	info, err := store.CommitInfo(tip)
	if err != nil {
		log.Fatal(err)
	}
	r, size, err := store.ReadFile(info.Tree, "draft.txt")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	fmt.Printf("%d bytes: %s", size, text)
	fmt.Println("ignored:", !store.HasFile(info.Tree, "scratch.tmp"), err)

	whole, err := store.IsComplete(ctx, tip)
	fmt.Println("complete:", whole, err)
	// Output:
	// 2 files recorded
	// 14 bytes: a first draft
	// ignored: true <nil>
	// complete: true <nil>
}

// A reference moves only from where its owner believes it to be.
func ExampleStore_refConflict() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	store, err := checkpoint.Init(checkpoint.Options{Dir: dir + "/store"})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	ctx := context.Background()
	tree, err := store.AddTree(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	var commits []checkpoint.SHA
	for _, message := range []string{"one", "two"} {
		sha, err := store.Commit(ctx, checkpoint.CommitRequest{Tree: tree, Parents: commits, Message: message, When: time.Unix(0, 0)})
		if err != nil {
			log.Fatal(err)
		}
		commits = append(commits[:0:0], sha)
		fmt.Println(message, store.SetRef("refs/heads/main", "", sha) == nil)
	}
	// Output:
	// one true
	// two false
}
