package layout

import (
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	goruntime "runtime"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"hank/internal/vfs"
	"hank/recovery/finding"
	"hank/state"
)

// MetaVersion is the version of execution-meta.json's documented shape.
const MetaVersion = "1.2.0"

// Meta is execution-meta.json: what an execution was made from. It explains;
// everything in it can be re-derived or asked for again.
type Meta struct {
	Version                string      `json:"version"`
	ReadOnlySourceDataPath string      `json:"readOnlySourceDataPath,omitempty"`
	ResolvedDataPath       string      `json:"readOnlySourceResolvedDataPath,omitempty"`
	DataHash               string      `json:"dataHash,omitempty"` // see package datalist
	HankHash               string      `json:"hankHash,omitempty"`
	HankPath               string      `json:"hankPath,omitempty"`
	LinkType               string      `json:"linkType,omitempty"` // symlink or copy
	CreatedAt              state.Time  `json:"createdAt"`
	LastUsed               state.Time  `json:"lastUsed"`
	HankweaveVersion       string      `json:"hankweaveVersion,omitempty"`
	Environment            Environment `json:"environment"`

	// Additive.
	Lineage    string   `json:"lineage,omitempty"`
	LineageSum string   `json:"lineageSum,omitempty"`      // of Lineage, which alone decides something
	Adopted    *Adopted `json:"adopted,omitempty"`         // set where hank went on with an execution of Hankweave
	Root       string   `json:"root,omitempty"`            // where the execution was last opened
	Workspace  string   `json:"workspace,omitempty"`       // only with --workspace
	Output     string   `json:"outputDirectory,omitempty"` // of hank run --output, or of a setting
	Replay     string   `json:"replay,omitempty"`          // the execution that runs replay, until one is told otherwise
	Sandbox    string   `json:"sandbox,omitempty"`         // of --sandbox, until it is given again
	Inode      string   `json:"inode,omitempty"`           // device:inode of .hankweave when last opened

	OutputIsSetting bool `json:"outputDirectoryIsSetting,omitempty"` // Output is that of a setting, which another one replaces

	WorkspaceDir *DirID `json:"workspaceFolder,omitempty"` // the workspace when the newest codon began

	// CheckpointCap is how many bytes the checkpoints may come to, see Cap; 0 is
	// any number, and absent the default.
	CheckpointCap *int64 `json:"checkpointCap,omitempty"`

	// LeftOut are the files that no checkpoint takes, as the store's info/exclude
	// has them: either brings them back where the other is lost.
	LeftOut []string `json:"leftOutOfCheckpoints,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

// Adopted is what the meta of an execution said when hank went on with it:
// digests that only Hankweave can compare, for it makes them in its own way.
type Adopted struct {
	At       state.Time `json:"at"`
	DataHash string     `json:"dataHash,omitempty"`
	HankHash string     `json:"hankHash,omitempty"`
}

// Foreign reports whether the execution was begun by Hankweave.
func (m Meta) Foreign() bool { return m.Adopted != nil || m.Version != "" && !m.Ours() }

// Ours reports whether hank has written it: one of its names may be damaged.
func (m Meta) Ours() bool { return m.Lineage != "" || m.Root != "" || m.Inode != "" }

// SetLineage sets the lineage, and its checksum.
func (m *Meta) SetLineage(lineage string) { m.Lineage, m.LineageSum = lineage, sumOf(lineage) }

// sumOf is the CRC-32C of a text, in hexadecimal.
func sumOf(text string) string {
	return fmt.Sprintf("%08x", crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli)))
}

// Doubt reports a lineage that ReadMetaFile has left out.
func (m Meta) Doubt(rep *finding.Report) {
	if m.LineageSum != "" && m.Lineage == "" {
		rep.Add(finding.Mended, "the lineage in execution-meta.json is damaged; it is taken from the state")
	}
}

// Adopt sets apart what hank will write in another form.
func (m *Meta) Adopt(at state.Time) {
	m.Adopted = &Adopted{At: at, DataHash: m.DataHash, HankHash: m.HankHash}
	m.DataHash, m.HankHash = "", ""
}

// RememberWorkspace notes which directory the workspace is.
func (m *Meta) RememberWorkspace(f DirID) { m.WorkspaceDir = &f }

// Environment describes the machine that made the execution.
type Environment struct {
	InvocationMethod string         `json:"invocationMethod,omitempty"`
	Platform         string         `json:"platform,omitempty"`
	Arch             string         `json:"arch,omitempty"`
	OSRelease        string         `json:"osRelease,omitempty"`
	Runtime          string         `json:"runtime,omitempty"`
	Unknown          jsontext.Value `json:",embed"`
}

// Here describes this machine.
func Here() Environment {
	return Environment{InvocationMethod: "hank", Platform: goruntime.GOOS, Arch: goruntime.GOARCH, Runtime: goruntime.Version()}
}

// NameError is a path that hank cannot write into its files, which are JSON.
type NameError struct{ Path string }

func (e *NameError) Error() string {
	return fmt.Sprintf("the name %q is not UTF-8, which hank's files need; rename the directory, or choose another: nothing was made", e.Path)
}

// Nameable refuses a path that is not UTF-8.
func Nameable(path string) error {
	if !utf8.ValidString(path) {
		return &NameError{path}
	}
	return nil
}

// ReadMetaFile returns the meta of an execution. A missing or damaged file gives
// an empty meta and the reason. A lineage that is damaged is left out: what is
// of the execution would count as another's.
func ReadMetaFile(fsys vfs.FS, path string) (Meta, error) {
	var m Meta
	text, err := vfs.ReadFile(fsys, path)
	if err != nil {
		return Meta{}, err
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Meta{}, fmt.Errorf("%s is not readable JSON: %w", filepath.Base(path), err)
	}
	if m.LineageSum != "" && m.LineageSum != sumOf(m.Lineage) {
		m.Lineage = ""
	}
	return m, nil
}

// WriteMeta replaces the meta of an execution, durably.
func WriteMeta(fsys vfs.FS, path string, m Meta) error {
	text, err := json.Marshal(m, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return vfs.ReplaceFile(fsys, path, append(text, '\n'), 0o600, vfs.Durable)
}

// Relocation tells how an execution that is not where it was last opened got
// where it is.
type Relocation int

const (
	InPlace Relocation = iota // it is where it was, as far as is known
	Moved                     // the old path does not lead to it any more
	Copied                    // the original is still where it was
)

// Relocated compares the present root with the one in the meta. A copy is
// told from a move by the original still being there with the same lineage.
func Relocated(fsys vfs.FS, m Meta, root, inode string) Relocation {
	if m.Root == "" || m.Root == root {
		return InPlace
	}
	now, err := InodeOf(filepath.Join(m.Root, Dir))
	if err == nil && now == inode {
		return InPlace // the old path is another way to the same directory
	}
	there, err := ReadMetaFile(fsys, filepath.Join(m.Root, Dir, "execution-meta.json"))
	if err != nil || there.Lineage != m.Lineage {
		return Moved
	}
	return Copied
}

// IsCopy reports whether the execution at root is a copy whose original is still there.
func IsCopy(fsys vfs.FS, m Meta, root string) bool {
	inode, err := InodeOf(filepath.Join(root, Dir))
	return err == nil && Relocated(fsys, m, root, inode) == Copied
}

// Places are where an execution is known to be: at root; where it was last opened, if the same
// directory is there, as in a bind mount; and where links among hank's own files lead.
func Places(root string, m Meta) []string {
	places := []string{root}
	own := filepath.Join(root, Dir)
	here, err := InodeOf(own)
	if last, lastErr := InodeOf(filepath.Join(m.Root, Dir)); err == nil && lastErr == nil && m.Root != root && last == here {
		places = append(places, m.Root)
	}
	entries, _ := os.ReadDir(own) // without one there is nothing yet
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		if to, err := filepath.EvalSymlinks(filepath.Join(own, e.Name())); err == nil {
			places = append(places, to)
		}
	}
	return places
}

// LayoutOf returns where the files of an execution are, as far as its meta can
// be read.
func LayoutOf(root string) Layout {
	meta, _ := ReadMeta(root) // a damaged one is empty
	return Layout{Root: root, Workspace: ResolveWorkspace(meta, root)}
}

// ResolveWorkspace returns where the workspace is, given where the execution
// is now. One that the user has named does not follow a reset.
func ResolveWorkspace(m Meta, root string) string {
	if m.Workspace == "" {
		return DefaultWorkspace(root)
	}
	was := m.Root
	if WasReset(vfs.OS, root) {
		if filepath.Base(was) == filepath.Base(root) {
			was = filepath.Dir(was)
		}
		root = filepath.Dir(root)
	}
	if rel, err := filepath.Rel(was, m.Workspace); err == nil && filepath.IsLocal(rel) && was != "" {
		return filepath.Join(root, rel) // it lies inside the execution and moved along
	}
	return m.Workspace
}

// LinkData puts the data into the workspace under its fixed name: a link, or
// a copy where links are not wanted.
func LinkData(data, name string) error {
	if have, err := os.Readlink(name); err == nil {
		if have == data {
			return nil
		}
		if err := os.Remove(name); err != nil {
			return err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil // a copy, or a directory of that name: it stays
	}
	return os.Symlink(data, name)
}

// ReadMeta reads execution-meta.json.
func ReadMeta(root string) (Meta, error) { return ReadMetaFile(vfs.OS, Layout{Root: root}.Meta()) }
