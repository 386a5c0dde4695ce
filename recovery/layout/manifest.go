package layout

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/plan"
	"hank/state"
)

// Orphan is in the manifest for a checkpoint that there is not.
const Orphan = "orphan"

// manifestVersion is the version of the manifest's format.
const manifestVersion = "1.0.0"

type (
	// Manifest is the content of archive-manifest.json. It only ever grows.
	Manifest struct {
		Version string         `json:"version"`
		Entries []Archived     `json:"entries"` // oldest first
		Unknown jsontext.Value `json:",embed"`
	}

	// Archived says where a file of the workspace has gone.
	Archived struct {
		SourcePath    string         `json:"sourcePath"`  // in the workspace
		ArchivePath   string         `json:"archivePath"` // relative to the execution
		CodonID       plan.CodonID   `json:"codonId"`
		LoopContext   *ArchivedIn    `json:"loopContext,omitzero"`
		CheckpointSHA string         `json:"checkpointSha"` // of the codon's end; Orphan if none
		Timestamp     state.Time     `json:"timestamp"`
		Unknown       jsontext.Value `json:",embed"`
	}

	// ArchivedIn is the iteration of the codon, if it is in a loop.
	ArchivedIn struct {
		LoopID    plan.CodonID   `json:"loopId"`
		Iteration int            `json:"iteration"`
		Unknown   jsontext.Value `json:",embed"`
	}
)

// ReadManifest reads the manifest of the archive; one that is not there is
// empty.
func ReadManifest(fsys vfs.FS, name string) (Manifest, error) {
	empty := Manifest{Version: manifestVersion}
	data, err := vfs.ReadFile(fsys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return empty, fmt.Errorf("%s is damaged, so nothing is archived: %w; move it away, the files that it names stay in %s", name, err, ArchiveName)
	}
	if m.Version != manifestVersion {
		return empty, fmt.Errorf("%s has version %q, this hank knows %s, so nothing is archived: use the hank that wrote it", name, m.Version, manifestVersion)
	}
	return m, nil
}

// ByArchivePath is the manifest by the paths in the archive.
func (m Manifest) ByArchivePath() map[string]Archived {
	known := make(map[string]Archived, len(m.Entries))
	for _, e := range m.Entries {
		known[e.ArchivePath] = e
	}
	return known
}
