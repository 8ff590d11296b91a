package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A hierarchy is one mounted tree of control groups: one per controller in version 1, one in all
// in version 2, and both on a machine that is half way.
type hierarchy struct {
	mount       string
	controllers []string // version 1 only
	unified     bool
}

func hierarchies() ([]hierarchy, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []hierarchy
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		place, kind := strings.Fields(before), strings.Fields(after)
		if len(place) < 5 || len(kind) < 3 || !strings.HasPrefix(kind[0], "cgroup") {
			continue
		}
		found = append(found, hierarchy{
			mount:       place[4],
			controllers: strings.Split(kind[2], ","),
			unified:     kind[0] == "cgroup2",
		})
	}
	return found, lines.Err()
}

// A cgroup is one path in every hierarchy. What runs for a cluster is below the cluster's: that is
// how processes that nobody recorded (containers, shims, what a person started by exec) are told
// from everybody else's.
type cgroup string

func (c cgroup) below(name string) cgroup { return cgroup(filepath.Join(string(c), name)) }

// create makes the group in every hierarchy.
func (c cgroup) create() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		path := filepath.Join(h.mount, string(c))
		if err := os.MkdirAll(path, 0o755); err != nil {
			return fmt.Errorf("make control group %s: %w", path, err)
		}
		if h.unified {
			if err := (delegation{h.mount, delegationNote}).handDown(string(c)); err != nil {
				return err
			}
		} else if slices.Contains(h.controllers, "cpuset") {
			if err := inheritCPUs(h.mount, string(c)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inheritCPUs: a version 1 cpuset starts without CPUs and takes no process until it has some.
func inheritCPUs(mount, path string) error {
	parent := mount
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		child := filepath.Join(parent, part)
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			if have, _ := os.ReadFile(filepath.Join(child, name)); strings.TrimSpace(string(have)) != "" {
				continue
			}
			value, err := os.ReadFile(filepath.Join(parent, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(child, name), value, 0o644); err != nil {
				return err
			}
		}
		parent = child
	}
	return nil
}

// join moves the calling process into the group, in one hierarchy: enough to know it by, and the
// others stay as whoever runs us has set them.
func (c cgroup) join() error {
	all, err := hierarchies()
	if err != nil || len(all) == 0 {
		return fmt.Errorf("find control groups: %w", err)
	}
	chosen := all[0]
	for _, h := range all {
		if h.unified {
			chosen = h
		}
	}
	path := filepath.Join(chosen.mount, string(c))
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte("0"), 0o644)
}

// directories lists the group and all below it, in every hierarchy, deepest first.
func (c cgroup) directories() []string {
	all, _ := hierarchies()
	var found []string
	for _, h := range all {
		root := filepath.Join(h.mount, string(c))
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				found = append(found, path)
			}
			return nil
		})
	}
	slices.Reverse(found)
	return found
}

func (c cgroup) processes() []process {
	seen := map[int]bool{}
	var found []process
	for _, directory := range c.directories() {
		text, _ := os.ReadFile(filepath.Join(directory, "cgroup.procs"))
		for _, word := range strings.Fields(string(text)) {
			pid, _ := strconv.Atoi(word)
			if p, ok := processOf(pid); ok && pid != os.Getpid() && !seen[pid] {
				seen[pid] = true
				found = append(found, p)
			}
		}
	}
	return found
}

// holds says whether the process is in the group now.
func (c cgroup) holds(p process) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.PID))
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.SplitN(line, ":", 3)
		if len(fields) == 3 && (fields[2] == string(c) || strings.HasPrefix(fields[2], string(c)+"/")) {
			return true
		}
	}
	return false
}

// kill ends everything in the group: again and again, since what is being killed may fork. A
// process leaves the group's list before it has let go of its files and ports, so that each one
// ever seen is waited for.
func (c cgroup) kill(limit time.Duration) error {
	var seen []process
	return until(context.Background(), limit, "end all in "+string(c), func() (bool, error) {
		left := c.processes()
		for _, p := range left {
			if c.holds(p) {
				p.signal(syscall.SIGKILL)
			}
		}
		seen = slices.DeleteFunc(append(seen, left...), func(p process) bool { return !p.alive() })
		return len(seen) == 0, nil
	})
}

// remove takes the group's directories away. The kernel may need a moment after the last process.
func (c cgroup) remove(limit time.Duration) error {
	var last error
	err := until(context.Background(), limit, "remove control group "+string(c), func() (bool, error) {
		last = nil
		for _, directory := range c.directories() {
			err := syscall.Rmdir(directory)
			if err != nil && !errors.Is(err, syscall.ENOENT) {
				last = fmt.Errorf("%s: %w", directory, err)
			}
		}
		return last == nil, nil
	})
	return errors.Join(err, last)
}
