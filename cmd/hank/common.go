package main

import (
	"os"

	"hank/cmd/hank/call"
)

// What commands share, under the names that it has here; package call has them.
var (
	arguments       = call.Arguments
	asker           = call.Asker
	breakLockFlag   = call.BreakLockFlag
	capFlag         = call.CapFlag
	commandForThis  = call.CommandForThis
	dryRunFlag      = call.DryRunFlag
	executionFlag   = call.ExecutionFlag
	executionOf     = call.ExecutionOf
	executionOption = call.ExecutionOption
	exitWith        = call.ExitWith
	forThis         = call.ForThis
	isTerminal      = call.IsTerminal
	jsonEnding      = call.JSONEnding
	printJSON       = call.JSON
	jsonFlag        = call.JSONFlag
	limitFlag       = call.LimitFlag
	notOneOf        = call.NotOneOf
	orDefault       = call.OrDefault
	outliveReaders  = call.OutliveReaders
	quotePath       = call.QuotePath
	parseAge        = call.ParseAge
	sandboxFlag     = call.SandboxFlag
	sayingForThis   = call.SayingForThis
	screen          = &call.Screen
	settings        = call.Settings
	settingsHere    = call.SettingsHere
	terminal        = call.Terminal
	view            = call.View
	work            = call.Work
	yesFlag         = call.YesFlag
)

type endedError = call.EndedError

func say(format string, args ...any) error { return call.Say(format, args...) }

func remark(format string, args ...any) error { return call.Remark(format, args...) }

func printTo(out *os.File, format string, args ...any) error {
	return call.PrintTo(out, format, args...)
}
