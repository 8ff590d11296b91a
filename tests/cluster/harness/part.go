package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// A part is one program of the cluster: how it is started, and how one sees that it serves.
type part struct {
	name    string // "etcd", "node-1/kubelet"
	command []string
	ports   []int // of the loopback and the node's address, looked at before it starts
	ready   func(ctx context.Context) bool
	within  time.Duration // how long it may take to serve
}

// start runs the part in its namespace, with what it says in a log, and records it before anything
// else happens. It goes on when this program ends.
func (c *cluster) start(p part) error {
	for _, port := range p.ports {
		if holder := c.portHolder(placeOf(p.name), port); holder != "" {
			return fmt.Errorf("%s cannot start: port %d of %s is in use by %s; end that first",
				p.name, port, placeOf(p.name), holder)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := c.openLog(p.name)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(self, append([]string{"_enter", c.dir, placeOf(p.name), "/", "--"},
		p.command...)...)
	command.Env = c.environment(placeOf(p.name))
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	started, _ := processOf(command.Process.Pid)
	c.record(p.name, started, p.command)
	return command.Process.Release()
}

func (c *cluster) record(name string, started process, command []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Parts[name] = started
	c.fresh[name] = true
	c.state.Commands[name] = command
	// A disk that is full is reported by the part itself, which writes much more.
	_ = c.save()
}

// serves waits until the part answers. When it or another one ends instead, that one's last words
// are the error: a store that ended is why the API server does not answer.
func (c *cluster) serves(ctx context.Context, p part) error {
	culprit := p.name
	err := until(ctx, p.within, p.name+" does not serve", func() (bool, error) {
		if ended := c.endedPart(); ended != "" {
			culprit = ended
			return false, errors.Join(fmt.Errorf("%s ended", ended), c.diskFull())
		}
		return p.ready(ctx), c.diskFull()
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w%s\n  its log: %s", err, c.lastWords(culprit), c.logPath(culprit))
}

// endedPart names one that this command has started and that runs no more. What ended before is not
// what we wait for.
func (c *cluster) endedPart() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.fresh {
		if !c.state.Parts[name].alive() {
			return name
		}
	}
	return ""
}

// run starts parts that do not need each other, and waits until all serve.
func (c *cluster) run(ctx context.Context, parts ...part) error {
	for _, p := range parts {
		if err := c.start(p); err != nil {
			return err
		}
	}
	var waits []func() error
	for _, p := range parts {
		waits = append(waits, func() error { return c.serves(ctx, p) })
	}
	return together(waits...)
}

// environment is what parts and a person's commands in a namespace are given. Nothing of the
// caller's goes to a part: what a cluster does must not depend on who started it.
func (c *cluster) environment(place string) []string {
	return []string{
		"PATH=" + c.searchPath(), "HOME=/root", "LANG=C.UTF-8",
		"KUBECONFIG=" + c.kubeconfig(), "NODE_NAME=" + place,
	}
}

// searchPath finds the built programs before the machine's.
func (c *cluster) searchPath() string {
	var places []string
	for _, program := range []string{"kube", "containerd"} {
		places = append(places, filepath.Dir(c.state.Programs[program]))
	}
	return strings.Join(append(places, "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin",
		"/sbin", "/bin"), ":")
}

func (c *cluster) logPath(name string) string {
	return c.path("logs", strings.ReplaceAll(name, "/", "-")+".log")
}

func (c *cluster) openLog(name string) (*os.File, error) {
	if err := os.MkdirAll(c.path("logs"), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(c.logPath(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// diskFullMiB: with less than this left nothing is to be expected of a part.
const diskFullMiB = 8

// diskFull names a cause that programs often hide: some end, some hang, some only stop logging.
func (c *cluster) diskFull() error {
	if free := freeMiB(c.dir); free < diskFullMiB {
		return fmt.Errorf("the disk of %s is full (%d MiB left)", c.dir, free)
	}
	return nil
}

// lastWords are the end of the part's log, indented below an error.
func (c *cluster) lastWords(name string) string {
	words := ""
	text, _ := os.ReadFile(c.logPath(name))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines[max(0, len(lines)-5):] {
		if len(line) > 300 {
			line = line[:300] + "…"
		}
		words += "\n  | " + line
	}
	return words
}
