package state

import "github.com/go-json-experiment/json/jsontext"

// Sentinels is what the observers of a codon did. The list is called loaded
// while the codon lives and executed when its record is final.
type Sentinels struct {
	Loaded    []Sentinel     `json:"loaded,omitzero"`
	Executed  []Sentinel     `json:"executed,omitzero"`
	TotalCost USD            `json:"totalCost"`
	Unknown   jsontext.Value `json:",embed"`
}

// Sentinel is the account of one observer.
type Sentinel struct {
	ID             string         `json:"id"`
	Model          string         `json:"model"`
	LoadedAt       Time           `json:"loadedAt"`
	UnloadedAt     *Time          `json:"unloadedAt,omitempty"`
	LLMCallCount   int            `json:"llmCallCount"`
	FailedLLMCalls int            `json:"failedLLMCalls"`
	LastLLMCallAt  *Time          `json:"lastLlmCallAt,omitempty"`
	TotalTriggers  int            `json:"totalTriggers"`
	TotalCost      USD            `json:"totalCost"`
	Status         string         `json:"status"`
	UnloadReason   string         `json:"unloadReason,omitempty"`
	Unknown        jsontext.Value `json:",embed"`
}
