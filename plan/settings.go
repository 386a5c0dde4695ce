package plan

import "github.com/go-json-experiment/json/jsontext"

// SentinelSettings are settings for all sentinels of a run.
type SentinelSettings struct {
	EnablePersistence        *bool          `json:"enablePersistence,omitzero"`
	HealthCheckGracePeriodMs int            `json:"healthCheckGracePeriodMs,omitzero"`
	WaitForAllHealthChecks   *bool          `json:"waitForAllHealthChecks,omitzero"`
	Unknown                  jsontext.Value `json:",embed"`
}
