package opencode

import "testing"

// TestRecordedTranscripts holds the reader against what the real agent printed.
func TestRecordedTranscripts(t *testing.T) { agent.Replay(t, scenarios) }
