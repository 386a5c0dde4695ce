//go:build !unix

package recovery

func checkOwner(Layout) error { return nil }

func checkWorkspaceOwner(Layout) error { return nil }

func closedWorkspace(Layout) *DecisionError { return nil }
