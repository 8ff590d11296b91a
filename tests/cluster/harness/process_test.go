package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func startSleep(t *testing.T) process {
	t.Helper()
	command := exec.Command("sleep", "1000")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	p, ok := processOf(command.Process.Pid)
	if !ok {
		t.Fatal("the kernel does not know the process just started")
	}
	return p
}

func TestAProcessThatWasStartedIsAliveUntilItEnds(t *testing.T) {
	p := startSleep(t)
	if !p.alive() {
		t.Fatal("not alive")
	}
	if !p.end(time.Second) {
		t.Fatal("does not end")
	}
	if p.alive() {
		t.Fatal("alive after its end")
	}
}

func TestAProcessWithTheSameIdAndAnotherStartIsNotSignalled(t *testing.T) {
	p := startSleep(t)
	before := process{PID: p.PID, Start: p.Start - 1}
	if before.alive() {
		t.Fatal("taken for the one that had the id before")
	}
	before.signal(syscall.SIGKILL)
	if !before.end(0) {
		t.Fatal("the one before is gone already")
	}
	time.Sleep(10 * time.Millisecond)
	if !p.alive() {
		t.Fatal("the stranger was ended")
	}
}

func TestAProcessThatDoesNotExistIsNotAlive(t *testing.T) {
	if (process{PID: 1 << 30, Start: 1}).alive() {
		t.Fatal("alive")
	}
	if self, ok := processOf(os.Getpid()); !ok || !self.alive() {
		t.Fatal("we are not alive")
	}
}

func TestANameWithBracketsAndSpacesDoesNotConfuse(t *testing.T) {
	_, rest, found := cutLast("7 (a) b (c) S 1 2 3", ") ")
	if !found || rest != "S 1 2 3" {
		t.Fatalf("%q", rest)
	}
}
