package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAProgramThatWritesAVeryLongLineIsHeardToItsEnd(t *testing.T) {
	b := builder{module: module{name: "trial"}, from: t.TempDir()}
	var heard []string
	script := `head -c 3000000 /dev/zero | tr '\0' x; echo; echo after; printf last; exit 3`
	err := b.run(t.Context(), []string{"sh", "-c", script},
		func(line string) { heard = append(heard, line) })
	if len(heard) != 3 || len(heard[0]) != lineMax || heard[1] != "after" || heard[2] != "last" {
		t.Errorf("%d lines were heard", len(heard))
	}
	if err == nil || !strings.Contains(err.Error(), "after\n  last") || len(err.Error()) > 2*lineMax {
		t.Errorf("the error has not the last lines, cut: %.200v", err)
	}
}

// Who waits for the lock has its file open: a release that removed it would let the next one in
// beside him, by a new file of that name.
func TestALockOfABuildIsTheSameFileForAllWhoCome(t *testing.T) {
	b := builder{module: module{name: "trial"}, into: filepath.Join(t.TempDir(), "hash")}
	release, err := b.onlyOne()
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := os.OpenFile(b.into+".lock", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	release()
	if err := syscall.Flock(int(waiting.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatalf("who waited does not get it: %v", err)
	}
	next, err := os.OpenFile(b.into+".lock", os.O_CREATE|os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if syscall.Flock(int(next.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		t.Error("the next one builds beside who waited")
	}
}
