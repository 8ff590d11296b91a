package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// down is the verb. It is right in every state that a cluster can be in, and twice.
func down(ctx context.Context, args []string) error {
	line := newCommandLine("down")
	c, words, err := line.parse(args)
	if c == nil {
		return err
	}
	// A state that cannot be read has lost its processes' ids; control group and link are still
	// known by the directory's name.
	if len(words) > 0 {
		return usageFault("down takes no %s", strings.Join(words, " "))
	}
	if c.nothingInside() && c.nothingOutside() {
		fmt.Fprintf(os.Stderr, "nothing to end: there is no cluster in %s\n", c.dir)
		return nil
	}
	if err := c.checkDirectory(); err != nil {
		return err
	}
	release, err := c.lock()
	if release == nil {
		return err
	}
	defer release()
	output := newProgress()
	c.farewell(ctx, output)
	if err := c.clear(output); err != nil {
		return err
	}
	strangers, err := c.removeFiles()
	if err != nil {
		return err
	}
	output.say("down: %s", c.dir)
	if len(strangers) > 0 {
		output.say("%s stays: it holds what is not the cluster's (%s)", c.dir,
			strings.Join(strangers, ", "))
	}
	return nil
}

// nothingInside: there is no directory, or it is empty.
func (c *cluster) nothingInside() bool {
	entries, err := os.ReadDir(c.dir)
	return errors.Is(err, os.ErrNotExist) || err == nil && len(entries) == 0
}

// nothingOutside: no control group and no link are left of a cluster whose directory is gone.
func (c *cluster) nothingOutside() bool {
	_, err := os.Stat(filepath.Join("/sys/class/net", c.machineLink()))
	return len(c.cgroup().directories()) == 0 && err != nil
}

// podsGoWithin bounds the polite part. A Pod whose driver is gone stays until the kubelet can
// unprepare its claim, which may be never; its processes are ended below like all others.
const podsGoWithin = 10 * time.Second

// farewell ends Pods as Kubernetes does it, with their claims unprepared, as far as the cluster is
// still able to.
func (c *cluster) farewell(ctx context.Context, output *progress) {
	client, err := c.client()
	if err != nil || !c.state.Parts["apiserver"].alive() || !client.ok(ctx, "/readyz") {
		return
	}
	// Whoever would make new Pods for those that go ends first.
	c.state.Parts["controller-manager"].end(time.Second)
	left := -1
	err = until(ctx, podsGoWithin, "end Pods", func() (bool, error) {
		namespaces, err := client.namespacesOfPods(ctx)
		if err != nil {
			return false, err
		}
		if len(namespaces) > 0 && left < 0 {
			output.say("ending %d Pod(s)", len(namespaces))
			slices.Sort(namespaces)
			for _, namespace := range slices.Compact(namespaces) {
				_ = client.ask(ctx, "DELETE", "/api/v1/namespaces/"+namespace+"/pods",
					`{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":1}`, nil)
			}
		}
		left = len(namespaces)
		return left == 0, nil
	})
	if err != nil && left > 0 {
		output.say("%d Pod(s) did not end within %v: their processes are ended by id", left, podsGoWithin)
	}
}

// clear ends all processes and takes away what lies outside of the directory.
func (c *cluster) clear(output *progress) error {
	if len(c.state.Parts) > 0 {
		output.pass("ending %d processes", len(c.state.Parts)+len(c.state.Holders))
	}
	return c.clearAll()
}

// partsEndWithin is the time a part has to end by itself. The API server lingers on open watches
// and does not make use of more.
const partsEndWithin = 2 * time.Second

func (c *cluster) clearAll() error {
	var ends []func() error
	for name, p := range c.state.Parts {
		ends = append(ends, func() error {
			if !p.end(partsEndWithin) {
				return fmt.Errorf("%s (process %d) does not end", name, p.PID)
			}
			return nil
		})
	}
	ended := together(ends...)
	// What nobody recorded: shims, containers, what a person started by exec. The holders too.
	return errors.Join(ended, c.cgroup().kill(clearLimit), c.endHolders(),
		c.cgroup().remove(clearLimit), giveControllersBack(), c.disconnect(), c.forget())
}

func giveControllersBack() error {
	var faults []error
	for _, d := range rootDelegations() {
		faults = append(faults, d.giveBack())
	}
	return errors.Join(faults...)
}

func (c *cluster) endHolders() error {
	for name, p := range c.state.Holders {
		if !p.end(0) {
			return fmt.Errorf("the holder of %s (process %d) does not end", name, p.PID)
		}
	}
	return nil
}

func (c *cluster) forget() error {
	clear(c.state.Parts)
	clear(c.state.Holders)
	err := os.Remove(c.path("cluster.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
