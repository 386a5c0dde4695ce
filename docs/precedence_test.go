package docs

import (
	"strings"
	"testing"

	"hank/plan"
	"hank/plan/config"
)

// precedence returns the rows of the table of settings.
func precedence(t *testing.T) [][]string {
	t.Helper()
	var rows [][]string
	_, text, _ := strings.Cut(read(t, "hank-json.md"), "\n## Settings\n")
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| setting") {
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		} else if len(rows) > 0 && line == "" {
			break
		}
	}
	if len(rows) < 10 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	return rows
}

// The order of the columns of the table of settings is that of the code, for each setting
// that has a place in it.
func TestThePrecedenceOfSettingsIsThatOfTheTable(t *testing.T) {
	t.Parallel()
	first := func(cell string) string { name, _, _ := strings.Cut(strings.Trim(cell, "`"), "`"); return name }
	texts := map[string][4]string{ // in the columns 1, 3, 4 and 5
		"model": {"opus", "sonnet", "haiku", "anthropic/claude-sonnet-4-5"}, "sandbox": {"none", "none", "workspace", "workspace"},
		"checkpointCap": {"1GB", "2GB", "", "4GB"}, "shimIdleTimeout": {"11", "12", "13", "14"}, "ignoreRigFailures": {"false", "false", "", "true"},
		"outputDirectory": {"a", "b", "", "c"},
	}
	tested := 0
	for _, row := range precedence(t) {
		name := first(row[5])
		values, known := texts[name]
		if !known {
			continue
		}
		tested++
		for column, cell := range map[int]string{0: row[1], 1: row[3], 2: row[4], 3: row[5]} {
			if has := cell != "-"; has != (values[column] != "") {
				t.Errorf("%s: the table says %q of column %d", row[0], cell, column+1)
			}
		}
		file := settingsFrom(t, name, values[3])
		env, found := config.ParseEnviron([]string{"HANKWEAVE_RUNTIME_" + first(row[3]) + "=" + values[1]})
		if len(found) > 0 {
			t.Errorf("%s: %v", row[0], found)
		}
		var over *config.Settings
		if values[2] != "" {
			h := settingsFrom(t, name, values[2])
			over = (&plan.Overrides{Model: h.Model, ShimIdleTimeout: h.ShimIdleTimeout, Sandbox: h.Sandbox}).Settings()
		}
		flags := settingsFrom(t, name, values[0])
		l := config.Layers{File: file, Env: env, Flags: flags}
		for _, step := range []struct {
			column int
			got    config.Settings
			want   config.Settings
		}{
			{1, l.Merge(over), flags},
			{3, config.Layers{File: file, Env: env}.Merge(over), env},
			{4, config.Layers{File: file}.Merge(over), file},
		} {
			want := step.want
			if step.column == 4 && over != nil {
				want = *over
			}
			if got := settingText(name, step.got); got != settingText(name, want) {
				t.Errorf("%s: column %d does not apply: %s, not %s", row[0], step.column, got, settingText(name, want))
			}
		}
	}
	if tested != len(texts) {
		t.Errorf("%d of %d settings are in the table", tested, len(texts))
	}
}

// settingsFrom reads a setting as hankweave.json has it.
func settingsFrom(t *testing.T, name, value string) config.Settings {
	t.Helper()
	text := `"` + value + `"`
	if name == "shimIdleTimeout" || name == "ignoreRigFailures" {
		text = value
	}
	s, found := config.Parse([]byte(`{"` + name + `": ` + text + `}`))
	for _, d := range found {
		t.Logf("%s: %s", name, d)
	}
	return s
}

// settingText is a setting as text.
func settingText(name string, s config.Settings) string {
	switch name {
	case "model":
		return s.Model
	case "sandbox":
		return string(s.Sandbox)
	case "checkpointCap":
		return string(s.CheckpointCap)
	case "outputDirectory":
		return s.OutputDirectory
	case "shimIdleTimeout":
		return strings.Repeat("s", s.ShimIdleTimeout)
	}
	if s.IgnoreRigFailures == nil {
		return ""
	}
	return map[bool]string{true: "true", false: "false"}[*s.IgnoreRigFailures]
}

// What the table says an execution keeps is kept: the help of hank run names it.
func TestWhatTheTableSaysIsKeptIsInTheHelp(t *testing.T) {
	t.Parallel()
	_, help, _ := strings.Cut(read(t, "command-line.md"), "The execution keeps what ")
	help, _, _ = strings.Cut(help, "permanently")
	for _, row := range precedence(t) {
		for flag := range strings.SplitSeq(row[1], ", ") {
			flag = strings.Trim(flag, "`")
			if flag == "-" { // there is none
				continue
			}
			kept := strings.HasPrefix(row[2], "yes") && flag != "--adopt" && flag != "--frozen"
			if strings.Contains(help, flag) != kept {
				t.Errorf("%s: the table says %q, and the help of hank run: %q", flag, row[2], help)
			}
		}
	}
}
