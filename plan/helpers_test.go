package plan

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"hank/plan/diagnostic"
)

// directory is the directory of a hank in memory.
func folder(files map[string]string) fstest.MapFS {
	dir := fstest.MapFS{}
	for name, text := range files {
		dir[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
	}
	return dir
}

// shellCodon is a sound codon; extra fields are put behind the others.
func shellCodon(id string, extra ...string) string {
	fields := append([]string{fmt.Sprintf(`"id": %q, "name": %q, "model": "shell", "continuationMode": "fresh", "promptText": "true"`, id, "Codon "+id)}, extra...)
	return "{" + strings.Join(fields, ", ") + "}"
}

// agentCodon is a sound codon of a real model.
func agentCodon(id, mode string, extra ...string) string {
	fields := append([]string{fmt.Sprintf(`"id": %q, "name": %q, "model": "sonnet", "continuationMode": %q, "promptText": "Do it."`, id, "Codon "+id, mode)}, extra...)
	return "{" + strings.Join(fields, ", ") + "}"
}

func loopOf(id, terminate string, codons ...string) string {
	return fmt.Sprintf(`{"type": "loop", "id": %q, "name": %q, "terminateOn": %s, "codons": [%s]}`, id, "Loop "+id, terminate, strings.Join(codons, ", "))
}

func limit(n int) string { return fmt.Sprintf(`{"type": "iterationLimit", "limit": %d}`, n) }

const untilFull = `{"type": "contextExceeded"}`

func hankOf(items ...string) string { return `{"hank": [` + strings.Join(items, ", ") + `]}` }

// mustLoad loads a hank that must be sound.
func mustLoad(t testing.TB, hank string, files ...map[string]string) *Program {
	t.Helper()
	all := map[string]string{"hank.json": hank}
	for _, more := range files {
		for name, text := range more {
			all[name] = text
		}
	}
	p, ds := Load(folder(all), "hank.json")
	if p == nil {
		t.Fatalf("the hank must load:\n%s", diagnostic.Text(ds))
	}
	return p
}

// rulesOf lists the rules of diagnostics.
func rulesOf(ds []diagnostic.Diagnostic) []string {
	var ids []string
	for _, d := range ds {
		ids = append(ids, d.Rule)
	}
	return ids
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
