package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// up is the verb: it ends when every node is Ready, or with nothing left and a sentence why.
func up(ctx context.Context, args []string) error {
	line := newCommandLine("up")
	asked := options{}
	line.flags.StringVar(&asked.Version, "version", newestVersion, "")
	line.flags.IntVar(&asked.Nodes, "nodes", 1, "")
	line.flags.StringVar(&asked.FeatureGates, "feature-gates", "", "")
	line.flags.StringVar(&asked.RuntimeConfig, "runtime-config", "", "")
	c, words, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(words) > 0 {
		return usageFault("up takes flags only, not %s", strings.Join(words, " "))
	}
	if err := asked.check(); err != nil {
		return err
	}
	if err := c.checkDirectory(); err != nil {
		return err
	}
	if err := checkMachine(c.dir); err != nil {
		return err
	}
	output := newProgress()
	programs, err := buildModules(ctx, output, modulesFor(asked.Version))
	if err != nil {
		return err
	}
	return c.up(ctx, output, asked, programs)
}

func (c *cluster) up(ctx context.Context, output *progress, asked options,
	programs map[string]string) error {
	release, err := c.lock()
	if err != nil {
		return err
	}
	defer release()
	if again, err := c.alreadyUp(output, asked); again || err != nil {
		return err
	}
	c.state.Options, c.state.Programs = asked, programs
	if err := c.bringUp(ctx, output); err != nil {
		return errors.Join(err, c.giveUp())
	}
	output.say("ready: %s", c.summary())
	c.invite()
	return nil
}

// alreadyUp: a cluster that runs as asked for is what was wanted; one that runs otherwise is the
// person's to end; remains of a dead one are cleared away.
func (c *cluster) alreadyUp(output *progress, asked options) (bool, error) {
	down, running := c.missing()
	switch {
	case running == 0:
		if len(down) > 0 {
			output.say("a cluster in %s has died: clearing away what it left", c.dir)
		}
		if err := c.clear(output); err != nil {
			return false, err
		}
		// Its store too: a cluster that is new has nothing of one before, which may have been another
		// release's.
		_, err := c.removeFiles("logs")
		return false, err
	case len(down) > 0:
		return false, usageFault("a cluster is up in %s, but these of its parts are not: %s; "+
			"./dev cluster start PART or ./dev cluster down", c.dir, strings.Join(down, ", "))
	case c.state.Options != asked:
		return false, usageFault("a cluster is up in %s, with %s; end it with ./dev cluster down, or "+
			"name another --dir", c.dir, c.state.Options)
	}
	fmt.Fprintf(os.Stderr, "already up in %s: %s\n", c.dir, c.summary())
	c.invite()
	return true, nil
}

func (o options) String() string {
	text := fmt.Sprintf("Kubernetes %s, %d node(s)", o.Version, o.Nodes)
	if o.FeatureGates != "" {
		text += ", " + o.FeatureGates
	}
	if o.RuntimeConfig != "" {
		text += ", " + o.RuntimeConfig
	}
	return text
}

// bringUp is the order of things: what needs nothing first, and side by side what can be.
func (c *cluster) bringUp(ctx context.Context, output *progress) error {
	_ = os.RemoveAll(c.path("logs"))
	for _, name := range c.namespaces() {
		if err := c.startHolder(name); err != nil {
			return err
		}
	}
	// Whoever enters a namespace finds its holder in the saved state.
	if err := c.save(); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	if err := c.save(); err != nil {
		return err
	}
	output.say("namespaces control and %s, on %s.0/24", strings.Join(c.nodes(), ", "),
		network(c.state.Subnet))
	if err := c.credentials(); err != nil {
		return err
	}
	if err := together(
		func() error { return c.bringUpControlPlane(ctx, output) },
		func() error { return c.bringUpRuntimes(ctx, output) },
	); err != nil {
		return err
	}
	return c.bringUpKubelets(ctx, output)
}

func (c *cluster) bringUpControlPlane(ctx context.Context, output *progress) error {
	if err := c.run(ctx, c.etcd()); err != nil {
		return err
	}
	if err := c.run(ctx, c.apiserver()); err != nil {
		return err
	}
	output.say("etcd and API server serve at %s", c.server())
	return nil
}

func (c *cluster) bringUpRuntimes(ctx context.Context, output *progress) error {
	archive := c.path("images.tar")
	if err := c.writeImages(archive); err != nil {
		return fmt.Errorf("make images: %w", err)
	}
	var nodes []func() error
	for i, name := range c.nodes() {
		nodes = append(nodes, func() error {
			if err := c.prepareNode(i + 1); err != nil {
				return err
			}
			if err := c.run(ctx, c.containerd(name)); err != nil {
				return err
			}
			return c.importImages(ctx, name, archive)
		})
	}
	if err := together(nodes...); err != nil {
		return err
	}
	output.say("containerd runs, with images %s and %s", busyboxImage, pauseImage)
	return nil
}

// bringUpKubelets starts the rest: all of it needs the API server, none of it each other.
func (c *cluster) bringUpKubelets(ctx context.Context, output *progress) error {
	parts := []part{c.controllerManager(), c.scheduler()}
	for i := range c.nodes() {
		parts = append(parts, c.kubelet(i+1))
	}
	output.pass("controller manager, scheduler and %d kubelet(s) are starting", len(c.nodes()))
	return c.run(ctx, parts...)
}

// giveUp ends what was begun; the logs stay, for they say why.
func (c *cluster) giveUp() error {
	if err := c.clearAll(); err != nil {
		return err
	}
	_, err := c.removeFiles("logs")
	return err
}

// clearLimit bounds what `down` and a failed `up` wait for the kernel to let go.
const clearLimit = 10 * time.Second
