package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A census counts what a trial's cluster could leave behind on the machine: by kind, each thing
// by name. Others use the machine too, so of processes and control groups it counts those that
// only a cluster has, and none of a cluster that a person has up beside the trials; of all else,
// everything.
type census map[string][]string

func takeCensus() (census, error) {
	cache, err := cacheDirectory()
	if err != nil {
		return nil, err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	links, err := filepath.Glob("/sys/class/net/*")
	if err != nil {
		return nil, err
	}
	rules, err := exec.Command("nft", "list", "ruleset").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("list packet rules: %w: %s", err, rules)
	}
	legacy, err := legacyRules()
	if err != nil {
		return nil, err
	}
	c := census{
		"processes": clusterProcesses(cache), "mounts": lines(string(mounts)), "links": links,
		"control groups": clusterCgroups(), "packet rules": append(lines(string(rules)), legacy...),
		"settings": machineSettings(), "files": clusterFiles(), sharedKind: sharedThings(),
	}
	c.leaveOut(peoplesClusters())
	for _, things := range c {
		slices.Sort(things)
	}
	return c, nil
}

// legacyRules are the packet rules of the kernel's older tables, which nft does not list; none
// where the machine has no program for them. Counters are left out, they go on by themselves.
func legacyRules() ([]string, error) {
	var rules []string
	for _, program := range []string{"iptables-legacy-save", "ip6tables-legacy-save"} {
		if _, err := exec.LookPath(program); err != nil {
			continue
		}
		said, err := exec.Command(program).Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", program, err)
		}
		rules = append(rules, rulesOf(program, string(said))...)
	}
	return rules, nil
}

// rulesOf reads what iptables-save prints.
func rulesOf(program, text string) []string {
	var rules []string
	for _, line := range lines(text) {
		line, _, _ = strings.Cut(line, " [")
		if line != "" && !strings.HasPrefix(line, "#") {
			rules = append(rules, program+": "+line)
		}
	}
	return rules
}

// trialPrefix begins the name of a trial's directory, below the one for temporary files.
const trialPrefix = "galen-try-"

// peoplesClusters are the directories of those that are up and no trial's: their holders tell.
func peoplesClusters() []string {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var found []string
	for _, path := range commands {
		text, _ := os.ReadFile(path)
		words := strings.Split(string(text), "\x00")
		if len(words) < 4 || words[1] != "_hold" ||
			strings.HasPrefix(words[2], filepath.Join(os.TempDir(), trialPrefix)) {
			continue
		}
		if !slices.Contains(found, words[2]) {
			found = append(found, words[2])
		}
	}
	return found
}

// leaveOut drops what is of the clusters in these directories, such as a person's kubectl, and what
// all clusters share.
func (c census) leaveOut(directories []string) {
	if len(directories) > 0 {
		delete(c, sharedKind)
	}
	for kind, things := range c {
		c[kind] = slices.DeleteFunc(things, func(thing string) bool {
			return slices.ContainsFunc(directories, func(dir string) bool {
				return strings.Contains(thing, linkPrefix+idOf(dir)) ||
					strings.Contains(thing, clusterCgroupPrefix+idOf(dir)) ||
					strings.Contains(thing, dir+"/")
			})
		})
	}
}

// difference says what was not there before, and what is no longer, of the kinds that both have.
func (c census) difference(after census) string {
	var found []string
	for kind, things := range c {
		if _, counted := after[kind]; !counted {
			continue
		}
		for _, thing := range after[kind] {
			if !slices.Contains(things, thing) {
				found = append(found, fmt.Sprintf("left behind, of %s: %s", kind, thing))
			}
		}
		for _, thing := range things {
			if !slices.Contains(after[kind], thing) {
				found = append(found, fmt.Sprintf("lost, of %s: %s", kind, thing))
			}
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}

func (c census) String() string {
	var counts []string
	for kind, things := range c {
		counts = append(counts, fmt.Sprintf("%d %s", len(things), kind))
	}
	slices.Sort(counts)
	return strings.Join(counts, ", ")
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

// clusterProcesses are those in a cluster's control group, those that run a program built for one,
// holders, and whatever is in a network that is neither ours nor the machine's.
func clusterProcesses(cache string) []string {
	own, _ := os.Readlink("/proc/self/ns/net")
	first, _ := os.Readlink("/proc/1/ns/net")
	directories, _ := filepath.Glob("/proc/[0-9]*")
	var found []string
	for _, directory := range directories {
		pid, _ := strconv.Atoi(filepath.Base(directory))
		network, _ := os.Readlink(directory + "/ns/net")
		program, _ := os.Readlink(directory + "/exe")
		groups, _ := os.ReadFile(directory + "/cgroup")
		command := process{PID: pid}.commandUpTo(160)
		if _, ended, _ := processState(pid); ended {
			continue // its parent, the machine's first process, takes note when it likes
		}
		if network != "" && network != own && network != first ||
			strings.HasPrefix(program, cache) || strings.Contains(command, " _hold ") ||
			strings.Contains(string(groups), "/"+clusterCgroupPrefix) {
			found = append(found, fmt.Sprintf("%d %s%s", pid, command, clusterOf(string(groups))))
		}
	}
	return found
}

// clusterOf names the cluster's control group that a process is in.
func clusterOf(groups string) string {
	_, rest, found := strings.Cut(groups, "/"+clusterCgroupPrefix)
	if !found {
		return ""
	}
	id, _, _ := strings.Cut(strings.TrimSpace(strings.Split(rest, "\n")[0]), "/")
	return " in " + clusterCgroupPrefix + id
}

// sharedKind are things that are not one cluster's: with a person's cluster up nobody can say
// whose.
const sharedKind = "what clusters share"

func sharedThings() []string {
	var found []string
	for _, d := range rootDelegations() {
		found = append(found, "control groups hand down "+
			strings.Join(controllers(d.mount, "subtree_control"), " "))
		if _, err := os.Stat(d.note); err == nil {
			found = append(found, d.note)
		}
	}
	return found
}

func clusterCgroups() []string {
	var found []string
	for _, directory := range cgroup("/").directories() {
		for _, ours := range []string{clusterCgroupPrefix, probeCgroupPrefix, "kubepods"} {
			if strings.Contains(directory, "/"+ours) {
				found = append(found, directory)
				break
			}
		}
	}
	return found
}

// machineSettings are those of the kernel that a kubelet or a network plugin likes to change.
func machineSettings() []string {
	var found []string
	for _, name := range []string{"kernel/panic", "kernel/panic_on_oops", "vm/overcommit_memory",
		"vm/panic_on_oom", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
		"net/ipv4/ip_forward", "net/ipv4/conf/all/rp_filter", "kernel/hostname"} {
		value, _ := os.ReadFile("/proc/sys/" + name)
		found = append(found, name+"="+strings.TrimSpace(string(value)))
	}
	return found
}

// clusterFiles are the places outside of its directory where a node would usually write.
func clusterFiles() []string {
	var found []string
	for _, path := range []string{"/var/lib/kubelet", "/var/lib/cni", "/var/log/pods",
		"/var/log/containers", "/run/containerd", "/run/cdi", "/run/cni", "/etc/cni", "/etc/cdi",
		"/var/lib/containerd", "/run/runc"} {
		if _, err := os.Stat(path); err == nil {
			found = append(found, path)
		}
	}
	return found
}
