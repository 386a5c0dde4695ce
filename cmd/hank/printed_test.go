package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"hank/internal/argv"
	"hank/internal/fit"
)

// What hank prints as JSON in the scripts is recorded, and compared with the schemas in
// docs/schema/output.

// recordsDir is the variable that names the directory for the records.
const recordsDir = "HANK_TEST_PRINTED"

// record is what one call has printed as JSON.
type record struct {
	Args   []string `json:"args"`
	Dir    string   `json:"dir"`
	Form   form     `json:"form"`
	Code   int      `json:"code"`
	Output []byte   `json:"output"`
}

func (r record) String() string {
	return fmt.Sprintf("%q in %s, exit code %d, which printed\n%.3000s\n", r.Args[1:], r.Dir, r.Code, r.Output)
}

// recorded runs hank, and records what it prints as JSON where that is wanted. What ends
// the process before its end, as a kill does, leaves no record.
func recorded() int {
	dir := os.Getenv(recordsDir)
	of := formOf(newApp(), os.Args)
	fi, err := os.Stdout.Stat()
	if dir == "" || of == asText || err != nil || fi.Mode()&os.ModeCharDevice != 0 {
		return start(os.Args)
	}
	to := os.Stdout
	from, out, err := os.Pipe()
	if err != nil {
		return start(os.Args)
	}
	os.Stdout = out
	var printed bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		part := make([]byte, 64<<10)
		for {
			n, err := from.Read(part)
			printed.Write(part[:n])
			_, _ = to.Write(part[:n]) // who reads it may be gone: what hank does then is not recorded
			if err != nil {
				return
			}
		}
	}()
	code := start(os.Args)
	out.Close()
	select {
	case <-done:
	case <-time.After(time.Minute): // a process that hank has started has its output still
		return code
	}
	here, _ := os.Getwd()
	text, err := json.Marshal(record{os.Args, here, of, code, printed.Bytes()})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())), text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "panic: the record could not be written:", err)
	}
	return code
}

func schemaFile(command string) string {
	return filepath.Join("..", "..", "docs", "schema", "output", command+".schema.json")
}

// printedValues are the values that a record has printed, and the schema of its command. The
// error is what is wrong with them whatever the schema says.
func printedValues(r record) (schema string, values []json.RawMessage, err error) {
	command := "error"
	if len(r.Args) > 1 && newApp().Command(r.Args[1]) != nil {
		command = r.Args[1]
	}
	values, err = valuesIn(r.Output)
	switch {
	case err != nil:
	case r.Form == asObject && len(values) != 1:
		err = fmt.Errorf("%d objects were printed, want 1", len(values))
	case r.Form != asObject && len(values) != bytes.Count(r.Output, []byte("\n")):
		err = fmt.Errorf("%d objects were printed on %d lines", len(values), bytes.Count(r.Output, []byte("\n")))
	default:
		err = checkEnd(r, values)
	}
	return schemaFile(command), values, err
}

// checkEnd compares what the last object says of the end with the exit code.
func checkEnd(r record, values []json.RawMessage) error {
	if len(values) == 0 {
		if r.Code != 0 {
			return errors.New("nothing was printed")
		}
		return nil
	}
	var last map[string]any
	d := json.NewDecoder(bytes.NewReader(values[len(values)-1]))
	d.UseNumber()
	if err := d.Decode(&last); err != nil {
		return err
	}
	if data, ok := last["data"].(map[string]any); ok && last["type"] == "result" {
		last = data
	}
	problem, _ := last["error"].(map[string]any)
	if refusal, ok := last["refusal"].(map[string]any); ok {
		problem = refusal
	}
	said := "0"
	if problem != nil {
		said = fmt.Sprint(problem["exitCode"])
		if problem["message"] == "" {
			return errors.New("the error has no message")
		}
	}
	if said != fmt.Sprint(r.Code) {
		return fmt.Errorf("the last object says exit code %s", said)
	}
	return nil
}

// valuesIn are the JSON values of an output.
func valuesIn(output []byte) (values []json.RawMessage, err error) {
	d := json.NewDecoder(bytes.NewReader(output))
	for {
		var v json.RawMessage
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
}

// checkPrinted compares all records of a directory; whole: every command has to have one.
func checkPrinted(t *testing.T, dir string, whole bool) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var cases []fit.Case
	var of []record // of each case
	seen := map[string]int{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		if help := argv.Value(newApp(), r.Args, "help") + argv.Value(newApp(), r.Args, "h"); help != "" || len(r.Args) < 2 {
			continue
		}
		seen[r.Args[1]]++
		schema, values, err := printedValues(r)
		if err != nil {
			t.Errorf("%s: %v", r, err)
		}
		for _, v := range values {
			cases, of = append(cases, fit.Case{Schema: schema, Closed: true, Value: v}), append(of, r)
			if r.Form == asStream {
				cases, of = append(cases, fit.Case{Schema: filepath.Join("..", "..", "docs", "schema", "progress.schema.json"), Value: v}), append(of, r)
			}
		}
	}
	misfits, err := fit.Misfits(cases)
	if err != nil {
		t.Fatal(err)
	}
	for i, why := range misfits {
		t.Errorf("%s: %s", of[i], why)
	}
	if !whole {
		return
	}
	for _, command := range jsonCommands() {
		if seen[command] == 0 {
			t.Errorf("no script prints hank %s --json", command)
		}
	}
}

// jsonCommands are the commands that have --json.
func jsonCommands() (names []string) {
	for _, c := range newApp().Commands {
		if !c.Hidden && slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), "json") }) {
			names = append(names, c.Name)
		}
	}
	return names
}

// Every command that has --json has a schema, and every schema a command.
func TestEveryCommandWithJSONHasASchema(t *testing.T) {
	t.Parallel()
	var have []string
	files, err := os.ReadDir(filepath.Dir(schemaFile("x")))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), ".schema.json"); name != "error" {
			have = append(have, name)
		}
	}
	want := jsonCommands()
	slices.Sort(want)
	if !slices.Equal(have, want) {
		t.Errorf("schemas %q, commands %q", have, want)
	}
}
