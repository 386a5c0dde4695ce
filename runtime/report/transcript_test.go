package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hank/runtime/harness/transcript"
)

// A transcript is printed as what the agent said and which tools it used, each
// once; what a script printed stays as it is.
func TestATranscriptIsPrintedWithoutNoise(t *testing.T) {
	t.Parallel()
	lines := []string{
		`{"type":"system","subtype":"init","session_id":"s"}`,
		`{"type":"assistant","message":{"content":[{"type":"text","text":"I look."},{"type":"tool_use","name":"Bash","input":{"description":"d","command":"go vet /w/a.go\n  && ls"}}]}}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"a\nb"}]}}`,
		`{"type":"system","subtype":"api_retry"}`,
		`{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{"file_path":"/w/sub/b.go"}}]}}`,
		`{"type":"assistant","message":{"content":"All is well."}}`,
		`{"type":"result","subtype":"success","result":"All is well."}`,
		`{"type":"result","subtype":"success","result":"Another end."}`,
		`{"type":"result","subtype":"error_max_turns"}`,
		`{"type":"mine","of":"a script"}`,
		`plain`,
	}
	want := []string{"I look.\nBash: go vet a.go && ls", "Read: sub/b.go", "All is well.", "Another end.", "ended: error_max_turns", `{"type":"mine","of":"a script"}`, "plain"}
	p := &speech{workspace: "/w"}
	var got []string
	for _, line := range lines {
		entry := transcript.Entry{At: time.Unix(1e9, 0), Stream: transcript.Stdout, Line: []byte(line)}
		if l := p.line([]byte(strings.TrimSuffix(string(entry.Append(nil)), "\n"))); l.Kind != Silent {
			got = append(got, l.Text)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
