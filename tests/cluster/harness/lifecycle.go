package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"
)

// Parts and whole nodes end and start again here, as in life: a kubelet that crashes, a node that
// loses power. What they had on disk stays; a node's /run does not, as after a boot.

// endWithin is what a part gets that is asked to end; --kill gives it nothing.
const endWithin = 10 * time.Second

// withParts gives the named parts of a running cluster, which is locked meanwhile.
func (c commandLine) withParts(args []string,
	do func(cl *cluster, words []string, parts []part) error) error {
	cl, words, err := c.parse(args)
	if err != nil {
		return err
	}
	if err := cl.mustRun(); err != nil {
		return err
	}
	parts, err := cl.partsNamed(words)
	if err != nil {
		return err
	}
	release, err := cl.lock()
	if err != nil {
		return err
	}
	defer release()
	return do(cl, words, parts)
}

func stopParts(_ context.Context, args []string) error {
	line := newCommandLine("stop")
	kill := line.flags.Bool("kill", false, "")
	return line.withParts(args, func(c *cluster, words []string, parts []part) error {
		return c.stopNamed(words, parts, *kill)
	})
}

func (c *cluster) stopNamed(words []string, parts []part, kill bool) error {
	grace := endWithin
	if kill {
		grace = 0
	}
	slices.Reverse(parts)
	for _, p := range parts {
		if !c.state.Parts[p.name].end(grace) {
			return fmt.Errorf("%s (process %d) does not end", p.name, c.state.Parts[p.name].PID)
		}
		fmt.Printf("%s ended\n", p.name)
	}
	return c.stopNodes(words)
}

// stopNodes ends what else runs on nodes that were named as a whole: shims, containers, drivers.
func (c *cluster) stopNodes(words []string) error {
	for _, node := range c.nodes() {
		if !slices.Contains(words, node) {
			continue
		}
		if err := c.cgroup().below(node).kill(clearLimit); err != nil {
			return err
		}
		if !c.state.Holders[node].end(0) {
			return fmt.Errorf("the holder of %s does not end", node)
		}
		if err := c.cgroup().below(node).remove(clearLimit); err != nil {
			return err
		}
		fmt.Printf("%s is off\n", node)
	}
	return nil
}

func startParts(ctx context.Context, args []string) error {
	return newCommandLine("start").withParts(args,
		func(c *cluster, words []string, parts []part) error { return c.startNamed(ctx, words, parts) })
}

func (c *cluster) startNamed(ctx context.Context, words []string, parts []part) error {
	for i, node := range c.nodes() {
		if slices.Contains(words, node) {
			if err := c.startNode(ctx, i+1); err != nil {
				return err
			}
		}
	}
	for _, p := range parts {
		if c.state.Parts[p.name].alive() {
			fmt.Printf("%s runs already\n", p.name)
			continue
		}
		if err := c.run(ctx, p); err != nil {
			return err
		}
		fmt.Printf("%s serves\n", p.name)
	}
	return nil
}

// startNode makes the namespace of a node that is off, as a boot does: with an empty /run.
func (c *cluster) startNode(ctx context.Context, number int) error {
	name := nodeName(number)
	if c.state.Holders[name].alive() {
		return nil
	}
	if err := os.RemoveAll(c.path(name, "run")); err != nil {
		return err
	}
	if err := c.startHolder(name); err != nil {
		return err
	}
	if err := c.save(); err != nil {
		return err
	}
	if err := c.nodeCgroup(name).create(); err != nil {
		return err
	}
	return c.ip(ctx, c.cable(number, name, c.state.Holders[controlName].PID))
}
