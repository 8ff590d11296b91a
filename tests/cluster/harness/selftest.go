package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// selftest is the verb: the harness's promises, each tried on this machine by the program itself,
// as a person would run it. None is ever left out: where the machine cannot run a node, all fail.
func selftest(ctx context.Context, args []string) error {
	tells := newProgress()
	failed, passed := 0, 0
	for _, t := range trials {
		if len(args) > 0 && !slices.ContainsFunc(args, func(word string) bool {
			return strings.Contains(t.promise, word)
		}) {
			continue
		}
		start := time.Now()
		if err := t.run(ctx); err != nil {
			failed++
			tells.say("FAILED  %s:\n  %s", t.promise, strings.ReplaceAll(err.Error(), "\n", "\n  "))
			continue
		}
		passed++
		tells.say("ok      %s (%.1f s)", t.promise, time.Since(start).Seconds())
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		return exitWith(exitFault)
	}
	return nil
}

// A trial is one promise and what shows that it is kept.
type trial struct {
	promise string
	try     func(ctx context.Context, b *bench) error
}

// run gives the trial a directory of its own, and sees that nothing is left in the end, however
// the trial went.
func (t trial) run(ctx context.Context) error {
	before, err := takeCensus()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "galen-try-")
	if err != nil {
		return err
	}
	b := &bench{dir: filepath.Join(dir, "c")}
	err = t.try(ctx, b)
	if _, downErr := b.cluster(ctx, 0, "down"); err == nil {
		err = downErr
	}
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
	if _, statErr := os.Stat(b.dir); statErr == nil && err == nil {
		err = fmt.Errorf("%s is still there after down", b.dir)
	}
	os.RemoveAll(dir)
	if err != nil {
		return err
	}
	after, err := takeCensus()
	if err != nil {
		return err
	}
	if difference := before.difference(after); difference != "" {
		return fmt.Errorf("%s", difference)
	}
	return nil
}

// A bench is where a trial works: a cluster's directory, and what to put back afterwards.
type bench struct {
	dir  string
	env  []string
	user uint32 // who runs it, root unless said
	undo []func()
}

// cluster runs a command of this program on the bench and wants that exit code; it gives back all
// that was said.
func (b *bench) cluster(ctx context.Context, code int, verb string, args ...string) (string,
	error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, self, append([]string{verb, "--dir", b.dir}, args...)...)
	command.Env = append(os.Environ(), b.env...)
	command.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: b.user, Gid: b.user},
	}
	said, err := command.CombinedOutput()
	if command.ProcessState == nil {
		return "", err
	}
	if got := command.ProcessState.ExitCode(); got != code {
		return string(said), fmt.Errorf("%s %s: exit code %d, wanted %d: %s", verb,
			strings.Join(args, " "), got, code, said)
	}
	return string(said), nil
}

// says runs a command like cluster and wants the words among what it says.
func (b *bench) says(ctx context.Context, code int, words []string, verb string,
	args ...string) error {
	said, err := b.cluster(ctx, code, verb, args...)
	if err != nil {
		return err
	}
	for _, word := range words {
		if !strings.Contains(said, word) {
			return fmt.Errorf("%s %s does not say %q, but: %s", verb, strings.Join(args, " "), word, said)
		}
	}
	return nil
}

// background starts a program that ends with the trial at the latest.
func (b *bench) background(name string, args ...string) (process, error) {
	command := exec.Command(name, args...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return process{}, err
	}
	p, _ := processOf(command.Process.Pid)
	b.undo = append(b.undo, func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return p, nil
}
