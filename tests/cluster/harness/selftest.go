package main

import (
	"context"
	"errors"
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
	output := newProgress()
	failed, passed := 0, 0
	// What a cluster left that was killed is not to be counted as lost when the first trial clears it.
	if err := giveControllersBack(); err != nil {
		return err
	}
	for _, t := range trials {
		if len(args) > 0 && !slices.ContainsFunc(args, func(word string) bool {
			return strings.Contains(t.promise, word)
		}) {
			continue
		}
		start := time.Now()
		err := t.run(ctx)
		if ctx.Err() != nil {
			return errors.Join(errors.New("interrupted in the trial: "+t.promise), leftOver(err))
		}
		if err != nil {
			failed++
			output.say("FAILED  %s:\n  %s", t.promise, strings.ReplaceAll(err.Error(), "\n", "\n  "))
			continue
		}
		passed++
		output.say("ok      %s (%.1f s)", t.promise, time.Since(start).Seconds())
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

// A leftover is what is still there after a trial's end; why the trial failed is another matter.
type leftover struct{ error }

// leftOver picks what an interrupted trial left: that it failed is no news.
func leftOver(err error) error {
	var left leftover
	if errors.As(err, &left) {
		return left
	}
	return nil
}

// run gives the trial a directory of its own, and sees that nothing is left in the end, however
// the trial went: also when it was interrupted. What does not come down keeps its directory, from
// which it can be ended.
func (t trial) run(ctx context.Context) error {
	before, err := takeCensus()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", trialPrefix)
	if err != nil {
		return err
	}
	b := &bench{dir: filepath.Join(dir, "c")}
	tried := t.try(ctx, b)
	down := b.down()
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
	if _, err := os.Stat(b.dir); err == nil && down == nil {
		down = fmt.Errorf("%s is still there after down", b.dir)
	}
	if down != nil {
		return errors.Join(tried, leftover{fmt.Errorf("%w; ./dev cluster down --dir %s tries again",
			down, b.dir)})
	}
	if err := os.RemoveAll(dir); err != nil {
		return errors.Join(tried, leftover{err})
	}
	after, err := takeCensus()
	if err != nil {
		return errors.Join(tried, err)
	}
	if difference := before.difference(after); difference != "" {
		return errors.Join(tried, leftover{errors.New(difference)})
	}
	return tried
}

// A bench is where a trial works: a cluster's directory, and what to put back afterwards.
type bench struct {
	dir    string
	env    []string
	user   uint32 // who runs it, root unless said
	undo   []func()
	others []*bench
}

// beside is a second cluster's directory, which comes down with this one.
func (b *bench) beside() *bench {
	other := &bench{dir: b.dir + "2"}
	b.others = append(b.others, other)
	return other
}

// down ends all clusters of the bench. Nothing interrupts it.
func (b *bench) down() error {
	_, err := b.cluster(context.Background(), 0, "down")
	for _, other := range b.others {
		err = errors.Join(err, other.down())
	}
	return err
}

// endsWithin bounds what an interrupted command may still take: its processes' end, then its
// groups'.
const endsWithin = time.Minute

// cluster runs a command of this program on the bench and wants that exit code; it gives back all
// that was said.
func (b *bench) cluster(ctx context.Context, code int, verb string, args ...string) (string,
	error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(ctx, self, append([]string{verb, "--dir", b.dir}, args...)...)
	// Asked to end, it ends what it has begun, for which it needs a while.
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = endsWithin
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

// says runs a command as cluster does and expects the texts in its output.
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
