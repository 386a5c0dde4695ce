//go:build !unix

package layout

import "hank/recovery/finding"

func CheckOwner(Layout) error { return nil }

func checkWorkspaceOwner(Layout) error { return nil }

func ClosedPlace(Layout, string) error { return nil }

func ClosedOutput(string) error { return nil }

func ClosedWorkspace(Layout) *finding.DecisionError { return nil }
