package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is known by its id and by when it started: the id alone may meanwhile belong to
// somebody else, whom we must not touch.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot, as the kernel counts them
}

// processState is what the kernel says of a process: when it started, and whether it has ended and
// only waits for its parent to take note. One with a thread that still runs has not ended: it
// holds its files and ports.
func processState(pid int) (start uint64, ended, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, false
	}
	// The name stands in brackets and may itself hold spaces and brackets.
	_, rest, found := cutLast(string(text), ") ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return 0, false, false
	}
	state, threads := fields[0], fields[17]
	start, err = strconv.ParseUint(fields[19], 10, 64)
	return start, state == "X" || state == "Z" && (threads == "0" || threads == "1"), err == nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// processOf names the process that has this id now.
func processOf(pid int) (process, bool) {
	start, _, ok := processState(pid)
	return process{PID: pid, Start: start}, ok
}

// alive: still this very process.
func (p process) alive() bool {
	start, ended, ok := processState(p.PID)
	return ok && start == p.Start && !ended
}

// signal reaches this very process or none. The handle is taken first and the identity checked
// after, so that an id given to somebody else in between cannot be hit.
func (p process) signal(sig syscall.Signal) {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return
	}
	defer handle.Release()
	if p.alive() {
		_ = handle.Signal(sig)
	}
}

// end asks, waits for at most grace, then kills. Says whether the process is gone.
func (p process) end(grace time.Duration) bool {
	if grace > 0 {
		p.signal(syscall.SIGTERM)
		if p.gone(grace) {
			return true
		}
	}
	p.signal(syscall.SIGKILL)
	return p.gone(killedWithin)
}

// killedWithin bounds the wait for a process that was killed: it may be inside a system call.
const killedWithin = 5 * time.Second

func (p process) gone(limit time.Duration) bool {
	ended := func() (bool, error) { return !p.alive(), nil }
	return until(context.Background(), limit, "", ended) == nil
}

// command is the process's name and arguments, for sentences about strangers.
func (p process) command() string { return p.commandUpTo(60) }

func (p process) commandUpTo(bytes int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	arguments := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	arguments[0] = filepath.Base(arguments[0])
	command := strings.Join(arguments, " ")
	if len(command) > bytes {
		command = command[:bytes] + "…"
	}
	return command
}

// residentMiB is the memory that the process holds now.
func (p process) residentMiB() int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID))
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.Atoi(fields[1])
	return pages * os.Getpagesize() >> 20
}
