package main

import (
	"fmt"
	"slices"
	"time"

	"hank/scripts/bench/deflate"
	"hank/scripts/bench/system"
)

// results are all that a run has found, as it is in the JSON file.
type results struct {
	Schema   int            `json:"schema"`
	Quick    bool           `json:"quick,omitempty"`
	Seed     uint64         `json:"seed"`
	Runs     int            `json:"runs"`
	Machine  system.Machine `json:"machine"`
	Cases    []result       `json:"cases,omitempty"`
	Commands []commandRow   `json:"commands,omitempty"`
	Growth   []series       `json:"growth,omitempty"`
	Many     *many          `json:"many,omitempty"`
	Memory   *memoryUse     `json:"memory,omitempty"`
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

// series is how a cost grows: what is on the x axis is its name.
type series struct {
	Name   string  `json:"name"`
	Points []point `json:"points"`
}

// point is the median cost at one size. Git is 0 where it was not measured.
type point struct {
	X    int           `json:"x"`
	Hank time.Duration `json:"hankNs"`
	Git  time.Duration `json:"gitNs,omitempty"`
}

// many is what a long series of checkpoints costs.
type many struct {
	Checkpoints int           `json:"checkpoints"`
	Files       int           `json:"files"`
	Early       time.Duration `json:"earlyNs"` // median of the first hundred small ones
	Late        time.Duration `json:"lateNs"`  // median of the last hundred
	Beside      time.Duration `json:"besideMergeNs"`
	Worst       time.Duration `json:"worstNs"`
	Bins        []bin         `json:"bins"`
	Disk        *diskUse      `json:"disk,omitempty"`
}

// bin is some checkpoints in a row.
type bin struct {
	Until  int           `json:"until"`
	Median time.Duration `json:"medianNs"`
	P90    time.Duration `json:"p90Ns"`
}

// diskUse is the store in the end. The sums are of the distinct objects, each
// deflated on its own.
type diskUse struct {
	Bytes   int64         `json:"bytes"`
	Entries int           `json:"entries"` // files and directories
	Objects int           `json:"objects"`
	Own     deflate.Sizes `json:"deflatedLikeHank"`
	Git     deflate.Sizes `json:"deflatedLikeGit"`
}

// memoryUse is what hank's process takes, in bytes.
type memoryUse struct {
	Files        int     `json:"files"`
	HeapPerFile  float64 `json:"heapPerFile"`     // what the files add to the heap in use
	RSSPerFile   float64 `json:"residentPerFile"` // what they add to the resident set
	PeakFirst    int64   `json:"peakOfFirst"`     // the whole process, during its first checkpoint
	BigFile      int64   `json:"bigFile"`
	PeakBigFile  int64   `json:"peakOfBigFile"`
	BlobVerified bool    `json:"blobVerified"`
}
