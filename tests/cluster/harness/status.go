package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// summary is a running cluster in one line.
func (c *cluster) summary() string {
	return fmt.Sprintf("Kubernetes %s, %s", releases[c.state.Options.Version],
		strings.Join(c.nodes(), ", "))
}

// invite prints lines to try. They go to standard output, as all that a program may want to read.
func (c *cluster) invite() {
	dir := ""
	if c.dir != defaultDirectory() {
		dir = " --dir " + c.dir
	}
	fmt.Printf(`
export KUBECONFIG=%[1]s
./dev cluster kubectl%[2]s get nodes
./dev cluster exec%[2]s node-1 -- ls /var/lib/kubelet/plugins_registry
./dev cluster down%[2]s
`, c.kubeconfig(), dir)
}

// status is the verb: exit code 0 when everything runs, 1 when something does not.
func status(ctx context.Context, args []string) error {
	line := newCommandLine("status")
	c, _, err := line.parse(args)
	if err != nil {
		return err
	}
	if err := c.mustRun(); err != nil {
		return err
	}
	fmt.Printf("%s\ndirectory   %s\nkubeconfig  %s\nAPI server  %s\n\n", c.state.Options, c.dir,
		c.kubeconfig(), c.server())
	c.printParts()
	fmt.Println()
	nodesWrong := c.printNodes(ctx)
	if missing, _ := c.missing(); len(missing) > 0 {
		return fmt.Errorf("not running: %s; ./dev cluster start PART starts one again",
			strings.Join(missing, ", "))
	}
	return nodesWrong
}

func (c *cluster) printParts() {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "PART\tPROCESS\tSTATE\tMEMORY")
	for _, name := range c.partNames() {
		p := c.state.Parts[name]
		if p.alive() {
			fmt.Fprintf(table, "%s\t%d\tup\t%d MiB\n", name, p.PID, p.residentMiB())
		} else {
			fmt.Fprintf(table, "%s\t\tdown\t\n", name)
		}
	}
}

// partNames are the parts in the order in which they start.
func (c *cluster) partNames() []string {
	var names []string
	for _, p := range c.parts() {
		if _, known := c.state.Parts[p.name]; known {
			names = append(names, p.name)
		}
	}
	return names
}

func (c *cluster) printNodes(ctx context.Context) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	nodes, err := client.nodes(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server for its nodes: %w", err)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer table.Flush()
	fmt.Fprintln(table, "NODE\tSTATE\tKUBELET\tRUNTIME")
	var faults []error
	for _, n := range nodes {
		state := "Ready"
		ready, _, why := n.ready()
		if !ready {
			state = "NotReady"
			faults = append(faults, fmt.Errorf("%s is not Ready: %s", n.Metadata.Name, why))
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", n.Metadata.Name, state,
			n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.Runtime)
	}
	return errors.Join(faults...)
}

// parts are all parts in the order in which they start; ending goes the other way.
func (c *cluster) parts() []part {
	all := []part{c.etcd(), c.apiserver(), c.controllerManager(), c.scheduler()}
	for i, node := range c.nodes() {
		all = append(all, c.containerd(node), c.kubelet(i+1))
	}
	return all
}

// partsNamed finds parts by their own names or their node's.
func (c *cluster) partsNamed(words []string) ([]part, error) {
	if len(words) == 0 {
		return nil, usageFault("which part? There are %s", strings.Join(c.partNames(), ", "))
	}
	var found []part
	for _, word := range words {
		matches := slices.DeleteFunc(c.parts(), func(p part) bool {
			return p.name != word && (placeOf(p.name) != word || word == controlName)
		})
		if len(matches) == 0 {
			return nil, usageFault("no part %s; there are %s", word,
				strings.Join(append(c.partNames(), c.nodes()...), ", "))
		}
		found = append(found, matches...)
	}
	return found, nil
}
