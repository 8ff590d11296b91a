package main

import (
	"errors"
	"fmt"
	"os"
)

// Exit codes: the command line or the asked-for state is at fault, or the world is.
const (
	exitFault = 1
	exitUsage = 64
)

// A fault that carries its own exit code. Other errors are exitFault.
type fault struct {
	code int
	text string
}

func (f fault) Error() string { return f.text }

func usageFault(format string, args ...any) error {
	return fault{exitUsage, fmt.Sprintf(format, args...)}
}

// exitWith ends the program with a code and no sentence: the error is already printed.
type exitWith int

func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// printError prints an error as one sentence and gives the exit code that goes with it.
func printError(err error) int {
	if err == nil {
		return 0
	}
	var silent exitWith
	if errors.As(err, &silent) {
		return int(silent)
	}
	fmt.Fprintln(os.Stderr, "cluster: "+err.Error())
	var known fault
	if errors.As(err, &known) {
		return known.code
	}
	return exitFault
}
