package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The cluster's network is one Ethernet: a bridge in the control plane's namespace, with a cable to
// each node and one to the machine, so that programs in and outside of the namespaces reach the API
// server at one and the same address. Pods' addresses are routed over it, nothing is translated.
//
//	100.64.S.1       control plane        10.96.0.1     the API server as Pods know it
//	100.64.S.10+N    node N               10.244.N.0/24 its Pods
//	100.64.S.254     this machine
//
// 100.64.0.0/10 is set aside for carriers' networks (RFC 6598), which Tailscale and many clouds
// use as well: S is one that this machine has no address in and no route to. Where there is none,
// it is 198.18.S, of the networks for measurements (RFC 2544).

// serviceAddress is the first of the services' range: the API server, by Kubernetes' convention.
// It is one of the control plane's own addresses, so that no service proxy is needed for it.
const (
	serviceRange   = "10.96.0.0/16"
	serviceAddress = "10.96.0.1"
	dnsAddress     = "10.96.0.10" // nobody serves there: who asks for a name is refused at once
	apiPort        = 443          // as services have it: one port inside and outside of Pods
)

// networks are where a cluster's own may be, 256 in each; a cluster's number counts through them.
var networks = []string{"100.64", "198.18"}

func network(number int) string {
	return fmt.Sprintf("%s.%d", networks[number/256%len(networks)], number%256)
}

func (c *cluster) address(host int) string {
	return fmt.Sprintf("%s.%d", network(c.state.Subnet), host)
}

func (c *cluster) controlAddress() string { return c.address(1) }

func (c *cluster) machineAddress() string { return c.address(254) }

func (c *cluster) nodeAddress(number int) string { return c.address(10 + number) }

func podRange(number int) string { return fmt.Sprintf("10.244.%d.0/24", number) }

// machineLink is the one link that the machine itself has: 14 characters, at most 15 are possible.
func (c *cluster) machineLink() string { return linkPrefix + c.id }

const linkPrefix = "galen-"

// connect lays the cables. The machine's end gets its address last, under a lock that all clusters
// share, so that two that start at once do not take the same network.
func (c *cluster) connect(ctx context.Context) error {
	release, err := lockNetworks()
	if err != nil {
		return err
	}
	defer release()
	if c.state.Subnet, err = c.freeSubnet(ctx); err != nil {
		return err
	}
	control := c.state.Holders[controlName].PID
	lines := []string{
		"@control link set lo up",
		fmt.Sprintf("@control address add %s/32 dev lo", serviceAddress),
		fmt.Sprintf("@control address add %s/32 dev lo", dnsAddress),
		"@control link add nodes type bridge",
		fmt.Sprintf("@control address add %s/24 dev nodes", c.controlAddress()),
		"@control link set nodes up",
		fmt.Sprintf("link add %s type veth peer name machine netns %d", c.machineLink(), control),
		"@control link set machine master nodes up",
		fmt.Sprintf("address add %s/24 dev %s", c.machineAddress(), c.machineLink()),
		fmt.Sprintf("link set %s up", c.machineLink()),
	}
	for i, node := range c.nodes() {
		lines = append(lines, c.cable(i+1, node, control)...)
	}
	return c.ip(ctx, lines)
}

// cable gives the commands that connect a node and route to its Pods from all others.
func (c *cluster) cable(number int, node string, control int) []string {
	address, via := c.nodeAddress(number), c.controlAddress()
	lines := []string{
		"@" + node + " link set lo up",
		fmt.Sprintf("@%s link add eth0 type veth peer name %s netns %d", node, node, control),
		fmt.Sprintf("@control link set %s master nodes up", node),
		fmt.Sprintf("@%s address add %s/24 dev eth0", node, address),
		"@" + node + " link set eth0 up",
		fmt.Sprintf("@%s route add default via %s", node, via),
		fmt.Sprintf("@control route replace %s via %s", podRange(number), address),
	}
	for i, other := range c.nodes() {
		if other != node {
			lines = append(lines, fmt.Sprintf("@%s route add %s via %s", node, podRange(i+1),
				c.nodeAddress(i+1)))
		}
	}
	return lines
}

// ip gives the lines to ip(8), in order; "@NAME " says in which namespace a line is meant. Lines
// for the same place that follow one another are one run of the program.
func (c *cluster) ip(ctx context.Context, lines []string) error {
	for len(lines) > 0 {
		place, _ := splitPlace(lines[0])
		var batch []string
		for len(lines) > 0 {
			next, line := splitPlace(lines[0])
			if next != place {
				break
			}
			batch, lines = append(batch, line), lines[1:]
		}
		if err := c.ipBatch(ctx, place, batch); err != nil {
			return err
		}
	}
	return nil
}

func splitPlace(line string) (place, rest string) {
	if !strings.HasPrefix(line, "@") {
		return "", line
	}
	place, rest, _ = strings.Cut(line[1:], " ")
	return place, rest
}

func (c *cluster) ipBatch(ctx context.Context, place string, batch []string) error {
	command := exec.CommandContext(ctx, "ip", "-batch", "-")
	if place != "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		command = exec.CommandContext(ctx, self, "_enter", c.dir, place, "/", "--", "ip", "-batch", "-")
	}
	command.Stdin = strings.NewReader(strings.Join(batch, "\n") + "\n")
	if said, err := command.CombinedOutput(); err != nil {
		where := "this machine"
		if place != "" {
			where = place
		}
		return fmt.Errorf("set up the network of %s: %w: %s (commands: %s)", where, err,
			strings.TrimSpace(string(said)), strings.Join(batch, "; "))
	}
	return nil
}

// freeSubnet finds a network that no link of this machine is in and no route leads to. It starts
// at a number that comes from the directory, so that the same cluster usually has the same
// addresses.
func (c *cluster) freeSubnet(ctx context.Context) (int, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return 0, err
	}
	// All tables: who routes a network over a tunnel often has one of its own.
	routes, err := exec.CommandContext(ctx, "ip", "-4", "route", "show", "table", "all").Output()
	if err != nil {
		return 0, fmt.Errorf("read this machine's routes: %w", err)
	}
	taken := destinations(string(routes))
	for _, address := range addresses {
		if have, err := netip.ParsePrefix(address.String()); err == nil {
			taken = append(taken, have)
		}
	}
	return firstFree(int(c.id[0])*7+int(c.id[1]), taken)
}

// wideBits: a route to so much is a way out, as the default one is, and not a network that is in
// use.
const wideBits = 8

// destinations are those of the lines of ip-route(8). A line may begin with the route's type.
func destinations(routes string) []netip.Prefix {
	var found []netip.Prefix
	for _, line := range lines(routes) {
		for _, word := range strings.Fields(line)[:min(2, len(strings.Fields(line)))] {
			if !strings.Contains(word, "/") {
				word += "/32"
			}
			if prefix, err := netip.ParsePrefix(word); err == nil && prefix.Bits() >= wideBits {
				found = append(found, prefix)
				break
			}
		}
	}
	return found
}

// firstFree looks through the first of the networks from the number on, then through the others.
func firstFree(from int, taken []netip.Prefix) (int, error) {
	for base := range networks {
		for offset := range 256 {
			number := 256*base + (from+offset)%256
			wanted := netip.MustParsePrefix(network(number) + ".0/24")
			if !slices.ContainsFunc(taken, wanted.Overlaps) {
				return number, nil
			}
		}
	}
	return 0, fmt.Errorf("no network of %s.0.0/16 is free: this machine has addresses in all, or "+
		"routes to them (ip route show table all)", strings.Join(networks, ".0.0/16 and "))
}

func lockNetworks() (release func(), err error) {
	cache, err := cacheDirectory()
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(cache, "network.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, err
	}
	return func() { file.Close() }, nil
}

// disconnect takes the machine's link away; the others end with their namespaces.
func (c *cluster) disconnect() error {
	if _, err := net.InterfaceByName(c.machineLink()); err != nil {
		return nil
	}
	said, err := exec.Command("ip", "link", "delete", c.machineLink()).CombinedOutput()
	if _, still := net.InterfaceByName(c.machineLink()); err != nil && still == nil {
		return fmt.Errorf("remove link %s: %s", c.machineLink(), strings.TrimSpace(string(said)))
	}
	return nil
}
