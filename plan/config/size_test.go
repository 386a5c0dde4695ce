package config_test

import (
	"math"
	"testing"

	"hank/plan/config"
)

func TestSizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"0": 0, "4096": 4096, "1B": 1, "20GB": 20e9, "1.5GiB": 3 << 29, "500 MB": 500e6, "2k": 2000, "999999999999999TB": math.MaxInt64,
	} {
		size, err := config.ParseSize(text)
		if n, set := size.Bytes(); err != nil || n != want || !set {
			t.Errorf("%s: %d %v %v, want %d", text, n, set, err, want)
		}
	}
	for _, text := range []string{"", "-1", "much", "1e9", "20 G B", "20GBx", "0x10", ".5GB"} {
		if size, err := config.ParseSize(text); err == nil || size != "" {
			t.Errorf("%q is taken for a size", text)
		}
	}
	if _, set := config.Size("").Bytes(); set {
		t.Error("an empty size is set")
	}
	low, high := config.Settings{CheckpointCap: "1GB"}, config.Settings{CheckpointCap: "0"}
	if got := (config.Layers{File: low, Env: high}).Merge(nil).CheckpointCap; got != "0" {
		t.Errorf("the later layer has %s", got)
	}
}
