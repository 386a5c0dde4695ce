package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// results are all that a run has found, as it is in the JSON file.
type results struct {
	Schema  int        `json:"schema"`
	Quick   bool       `json:"quick,omitempty"`
	Seed    uint64     `json:"seed"`
	Runs    int        `json:"runs"`
	Machine machine    `json:"machine"`
	Cases   []result   `json:"cases,omitempty"`
	Growth  []series   `json:"growth,omitempty"`
	Many    *many      `json:"many,omitempty"`
	Memory  *memoryUse `json:"memory,omitempty"`
}

// result is a row of the table.
type result struct {
	Name    string            `json:"name"`
	Title   string            `json:"title"`
	Target  float64           `json:"target"`
	Stretch float64           `json:"stretch"`
	Sides   map[string]figure `json:"sides"`
	// Ratio is hank to git's defaults; the others name what is compared.
	Ratio         float64 `json:"ratio"`
	RatioFsync    float64 `json:"ratioToGitFsync,omitempty"`
	RatioBatch    float64 `json:"ratioToGitBatch,omitempty"`
	RatioUnsynced float64 `json:"ratioOfUnsynced,omitempty"`
	RatioAlone    float64 `json:"ratioOfFilesAlone,omitempty"`
	Verdict       string  `json:"verdict"`
}

// figure is what a side took.
type figure struct {
	Median  time.Duration            `json:"medianNs"`
	Min     time.Duration            `json:"minNs"`
	Max     time.Duration            `json:"maxNs"`
	Parts   map[string]time.Duration `json:"partsMedianNs,omitempty"`
	Samples []time.Duration          `json:"samplesNs"`
}

func (c benchCase) result(sides []*side, files int) result {
	r := result{Name: c.name, Title: c.title, Target: c.target, Stretch: c.stretch, Sides: map[string]figure{}}
	for _, s := range sides {
		r.Sides[s.name] = s.figure()
	}
	if files != c.size {
		r.Title += fmt.Sprintf(" (here %d)", files)
	}
	ratio := func(a, b string) float64 {
		if r.Sides[a].Median == 0 || r.Sides[b].Median == 0 {
			return 0
		}
		return float64(r.Sides[a].Median) / float64(r.Sides[b].Median)
	}
	r.Ratio, r.RatioUnsynced = ratio(hankSide, gitSide), ratio(unsyncedSide, gitSide)
	r.RatioAlone = ratio(bareSide, gitSide)
	r.RatioFsync, r.RatioBatch = ratio(hankSide, gitFsyncSide), ratio(hankSide, gitBatchSide)
	switch {
	case files != c.size:
		r.Verdict = "too small to tell"
	case r.Ratio <= c.stretch:
		r.Verdict = "PASS, stretch"
	case r.Ratio <= c.target:
		r.Verdict = "PASS"
	default:
		r.Verdict = "MISS"
	}
	return r
}

func (s *side) figure() figure {
	all := elapsed(s.samples)
	f := figure{Median: median(all), Min: slices.Min(all), Max: slices.Max(all), Samples: all}
	for part := range s.samples[0].parts {
		if f.Parts == nil {
			f.Parts = map[string]time.Duration{}
		}
		var list []time.Duration
		for _, one := range s.samples {
			list = append(list, one.parts[part])
		}
		f.Parts[part] = median(list)
	}
	return f
}

// write writes the three files into a folder.
func (r *results) write(dir string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "table.txt"), []byte(r.text()), 0o644),
		os.WriteFile(filepath.Join(dir, "checkpoint.json"), append(data, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "checkpoint.svg"), []byte(r.chart()), 0o644))
}
