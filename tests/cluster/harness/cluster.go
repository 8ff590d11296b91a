package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// A cluster is everything below one directory. Its identity is made from the directory's path, so
// that what it has outside (control groups, one link) can be found when the directory is lost.
type cluster struct {
	dir   string
	id    string
	mu    sync.Mutex      // the state's parts: they start side by side
	fresh map[string]bool // parts that this very command has started
	state clusterState
}

// clusterState is what must be known to reach, stop and describe a running cluster.
type clusterState struct {
	Options  options             `json:"options"`
	Subnet   int                 `json:"subnet"` // its network's number
	Programs map[string]string   `json:"programs"`
	Holders  map[string]process  `json:"holders"` // by namespace: "control", "node-1", …
	Parts    map[string]process  `json:"parts"`   // by name: "etcd", "node-1/kubelet", …
	Commands map[string][]string `json:"commands"`
}

const controlName = "control"

func nodeName(number int) string { return fmt.Sprintf("node-%d", number) }

func clusterAt(dir string) (*cluster, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	// A socket's path has 108 bytes; containerd's own take this much below the directory.
	if longest := 40; len(absolute) > longest {
		return nil, usageFault("--dir %s: %d bytes, at most %d leave room for the sockets' names",
			absolute, len(absolute), longest)
	}
	if err := checkOwner(absolute); err != nil {
		return nil, err
	}
	c := &cluster{dir: absolute, id: idOf(absolute), fresh: map[string]bool{}}
	return c, c.load()
}

func idOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// load reads the state; no state is an empty one.
func (c *cluster) load() error {
	c.state = clusterState{
		Programs: map[string]string{}, Holders: map[string]process{},
		Parts: map[string]process{}, Commands: map[string][]string{},
	}
	text, err := os.ReadFile(c.path("cluster.json"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &c.state); err != nil {
		return fmt.Errorf("read %s: %w; `down` removes it", c.path("cluster.json"), err)
	}
	return nil
}

// save replaces the state in one step, so that a crash leaves the old one or the new one.
func (c *cluster) save() error {
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(c.path("cluster.json"), append(text, '\n'), 0o600)
}

func replaceFile(path string, text []byte, mode fs.FileMode) error {
	fresh := path + ".new"
	if err := os.WriteFile(fresh, text, mode); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}

func (c *cluster) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

const clusterCgroupPrefix = "galen-cluster-"

func (c *cluster) cgroup() cgroup { return cgroup("/" + clusterCgroupPrefix + c.id) }

// nodes are the nodes' names in their order.
func (c *cluster) nodes() []string {
	var names []string
	for number := 1; number <= c.state.Options.Nodes; number++ {
		names = append(names, nodeName(number))
	}
	return names
}

// namespaces are all places where parts run: the control plane's, then the nodes'.
func (c *cluster) namespaces() []string { return append([]string{controlName}, c.nodes()...) }

// missing names the parts and namespaces that should run and do not.
func (c *cluster) missing() (down []string, running int) {
	for _, all := range []map[string]process{c.state.Holders, c.state.Parts} {
		for name, p := range all {
			if p.alive() {
				running++
			} else {
				down = append(down, name)
			}
		}
	}
	slices.Sort(down)
	return down, running
}

// mustRun is for commands that need a cluster; it says how to get one.
func (c *cluster) mustRun() error {
	if _, running := c.missing(); running == 0 {
		return fmt.Errorf("no cluster runs in %s; ./dev cluster up starts one", c.dir)
	}
	return nil
}

// placeOf says in which namespace a part runs.
func placeOf(part string) string {
	if node, _, ok := strings.Cut(part, "/"); ok {
		return node
	}
	return controlName
}
