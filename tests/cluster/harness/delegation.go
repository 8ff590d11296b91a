package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A group of version 2 can limit only what the group above hands down, up to the machine's root
// group. What a kubelet limits is handed down here, and runc has the root hand down all it has
// for each container. That is the machine's setting: who brings the first cluster up notes what
// it was, and who takes the last one down sets it back.
type delegation struct {
	mount string // of the hierarchy
	note  string // a file that is gone after a boot, as the setting is
}

// delegationNote lies where nothing survives a boot.
const delegationNote = "/run/galen-cluster-controllers"

// kubeletControllers are those without which a kubelet refuses its group, as far as the machine has
// them: pkg/kubelet/cm, Validate.
var kubeletControllers = []string{"cpu", "cpuset", "hugetlb", "memory", "pids"}

// rootDelegations are the machine's: one, or none where there is no version 2.
func rootDelegations() []delegation {
	all, _ := hierarchies()
	var found []delegation
	for _, h := range all {
		if h.unified && len(found) == 0 {
			found = append(found, delegation{h.mount, delegationNote})
		}
	}
	return found
}

// controllers reads one of a group's two lists.
func controllers(directory, list string) []string {
	text, _ := os.ReadFile(filepath.Join(directory, "cgroup."+list))
	return strings.Fields(string(text))
}

// setController switches a controller on ("+") or off ("-") for the groups below.
func setController(directory, sign, controller string) error {
	return os.WriteFile(filepath.Join(directory, "cgroup.subtree_control"), []byte(sign+controller),
		0o644)
}

// lock makes clusters take turns; nothing of it is left.
func (d delegation) lock() (release func(), err error) {
	root, err := os.Open(d.mount)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(root.Fd()), syscall.LOCK_EX); err != nil {
		root.Close()
		return nil, fmt.Errorf("lock %s: %w", d.mount, err)
	}
	return func() { root.Close() }, nil
}

// handDown has the groups on the way to the path hand down what a kubelet limits. A controller that
// cannot be had is missed by who needs it, with a better sentence than ours.
func (d delegation) handDown(path string) error {
	release, err := d.lock()
	if err != nil {
		return err
	}
	defer release()
	if err := d.remember(); err != nil {
		return err
	}
	at := d.mount
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		given := controllers(at, "subtree_control")
		for _, controller := range controllers(at, "controllers") {
			if slices.Contains(kubeletControllers, controller) && !slices.Contains(given, controller) {
				_ = setController(at, "+", controller)
			}
		}
		at = filepath.Join(at, part)
	}
	return nil
}

// identity distinguishes this root group from that of another boot or container.
func (d delegation) identity() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	inode := uint64(0)
	if info, err := os.Stat(d.mount); err == nil {
		inode = info.Sys().(*syscall.Stat_t).Ino
	}
	return fmt.Sprintf("%s %d", strings.TrimSpace(string(boot)), inode)
}

// before reads the note: what the root handed down when there was no cluster.
func (d delegation) before() (given []string, known bool) {
	text, err := os.ReadFile(d.note)
	whose, list, _ := strings.Cut(string(text), "\n")
	return strings.Fields(list), err == nil && whose == d.identity()
}

func (d delegation) remember() error {
	if _, known := d.before(); known {
		return nil
	}
	text := d.identity() + "\n" + strings.Join(controllers(d.mount, "subtree_control"), " ") + "\n"
	if err := replaceFile(d.note, []byte(text), 0o600); err != nil {
		return fmt.Errorf("note which controllers %s hands down: %w", d.mount, err)
	}
	return nil
}

// clusterRuns: a cluster's group that has processes. An empty one is what a dead cluster left.
func (d delegation) clusterRuns() bool {
	events, _ := filepath.Glob(filepath.Join(d.mount, clusterCgroupPrefix+"*", "cgroup.events"))
	return slices.ContainsFunc(events, func(path string) bool {
		text, _ := os.ReadFile(path)
		return strings.Contains(string(text), "populated 1")
	})
}

// giveBack sets the root as it was, when no cluster is left. A note of another boot is removed:
// what it says is no longer so, and nobody else would remove it where /run is kept on a disk.
func (d delegation) giveBack() error {
	release, err := d.lock()
	if err != nil {
		return err
	}
	defer release()
	if d.clusterRuns() {
		return nil
	}
	if given, known := d.before(); known {
		if err := d.restore(given); err != nil {
			return err
		}
	}
	if err := os.Remove(d.note); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// restore switches off all controllers but those given. What somebody else's groups have come to
// use meanwhile the kernel keeps (EBUSY), and so do we.
func (d delegation) restore(given []string) error {
	for _, controller := range controllers(d.mount, "subtree_control") {
		if slices.Contains(given, controller) {
			continue
		}
		err := setController(d.mount, "-", controller)
		if err != nil && !errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("set the control groups in %s back: %w", d.mount, err)
		}
	}
	return nil
}
