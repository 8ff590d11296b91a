package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// trials are in the order in which a reader would ask.
var trials = []trial{
	{"a Pod runs, and up and down leave nothing behind", tryPod},
	{"up twice says so, and down twice too", tryTwice},
	{"two clusters stand side by side", trySideBySide},
	{"up clears away what a kill -9 of everything left", tryKillAll},
	{"down ends no stranger that has a recorded id, and removes nothing of his", tryStranger},
	{"a part that is killed starts again with what it had", tryRestart},
	{"a port in use is named with its holder, who is left alone", tryPort},
	{"a disk that is too small is reported before anything starts", trySmallDisk},
	{"a disk that fills up is reported, and nothing is left", tryFullDisk},
	{"a directory with other things in it is refused, and left as it is", tryOtherDirectory},
	{"a directory of another user is refused by every command", tryOwnedByOthers},
	{"Ctrl-C in the midst of a trial leaves nothing either", tryInterrupted},
	{"what the machine lacks is named, all at once", tryLacking},
	{"wrong flags are all named at once", tryFlags},
	{"the reference driver's devices and their health reach a Pod", tryDriver},
	{"three nodes, one of which is switched off and on", tryNodes},
	{"the old release runs too", tryOldRelease},
}

const podManifest = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"try"},"spec":{
  "containers":[{"name":"c","image":"` + busyboxImage + `","imagePullPolicy":"Never",
  "command":["sh","-c","echo hello from $HOSTNAME; exec sleep 1000"]}]}}`

func tryPod(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up"); err != nil {
		return err
	}
	manifest := filepath.Join(filepath.Dir(b.dir), "pod.json")
	if err := os.WriteFile(manifest, []byte(podManifest), 0o600); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "kubectl", "create", "-f", manifest); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "kubectl", "wait", "--for=condition=Ready", "pod/try",
		"--timeout=60s"); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"hello from try"}, "kubectl", "logs", "try"); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"Kubernetes 1.37", "node-1/kubelet", "Ready"},
		"status"); err != nil {
		return err
	}
	return b.says(ctx, 7, nil, "exec", "node-1", "--", "sh", "-c", "exit 7")
}

func tryTwice(ctx context.Context, b *bench) error {
	if err := b.says(ctx, 0, []string{"nothing to end"}, "down"); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "up"); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"already up", "export KUBECONFIG="}, "up"); err != nil {
		return err
	}
	if err := b.says(ctx, exitUsage, []string{"a cluster is up", "1 node"}, "up", "--nodes",
		"2"); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "down"); err != nil {
		return err
	}
	return b.says(ctx, 0, []string{"nothing to end"}, "down")
}

func trySideBySide(ctx context.Context, b *bench) error {
	other := b.beside()
	_, first := b.cluster(ctx, 0, "up")
	_, second := other.cluster(ctx, 0, "up")
	_, third := b.cluster(ctx, 0, "status")
	_, fourth := other.cluster(ctx, 0, "down")
	_, fifth := b.cluster(ctx, 0, "status")
	return errors.Join(first, second, third, fourth, fifth)
}

func tryKillAll(ctx context.Context, b *bench) error {
	if err := tryPod(ctx, b); err != nil {
		return err
	}
	c, err := clusterAt(b.dir)
	if err != nil {
		return err
	}
	if err := c.cgroup().kill(clearLimit); err != nil {
		return err
	}
	if err := b.says(ctx, exitFault, []string{"no cluster runs"}, "status"); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"has died: clearing away", "ready"}, "up"); err != nil {
		return err
	}
	return b.says(ctx, 0, []string{"No resources found"}, "kubectl", "get", "pods")
}

// tryStranger gives a part's recorded id to a process of ours that is none of the cluster's.
func tryStranger(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up"); err != nil {
		return err
	}
	c, err := clusterAt(b.dir)
	if err != nil {
		return err
	}
	stranger, err := b.background("sleep", "1000")
	if err != nil {
		return err
	}
	scheduler := c.state.Parts["scheduler"]
	c.state.Parts["scheduler"] = process{PID: stranger.PID, Start: scheduler.Start}
	if err := c.save(); err != nil {
		return err
	}
	thesis := filepath.Join(b.dir, "thesis.tex")
	if err := os.WriteFile(thesis, nil, 0o600); err != nil {
		return err
	}
	b.undo = append(b.undo, func() { os.RemoveAll(b.dir) })
	if err := b.says(ctx, 0, []string{"stays: it holds what is not the cluster's (thesis.tex)"},
		"down"); err != nil {
		return err
	}
	if err := os.Remove(thesis); err != nil {
		return err
	}
	if !stranger.alive() {
		return errors.New("the stranger was ended")
	}
	if scheduler.alive() {
		return errors.New("the scheduler, whose record was lost, was not ended")
	}
	return nil
}

func tryRestart(ctx context.Context, b *bench) error {
	if err := tryPod(ctx, b); err != nil {
		return err
	}
	for _, part := range []string{"node-1/kubelet", "apiserver", "etcd", "node-1"} {
		if _, err := b.cluster(ctx, 0, "stop", "--kill", part); err != nil {
			return err
		}
		if err := b.says(ctx, exitFault, []string{"not running"}, "status"); err != nil {
			return err
		}
		if _, err := b.cluster(ctx, 0, "start", part); err != nil {
			return err
		}
	}
	_, err := b.cluster(ctx, 0, "kubectl", "wait", "--for=condition=Ready", "pod/try",
		"--timeout=60s")
	return err
}

func tryPort(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up"); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "stop", "node-1/kubelet"); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	stranger, err := b.background(self, "exec", "--dir", b.dir, "node-1", "--", busyboxProgram, "nc",
		"-l", "-p", "10250")
	if err != nil {
		return err
	}
	c, err := clusterAt(b.dir)
	if err != nil {
		return err
	}
	if err := until(ctx, 5*time.Second, "the stranger listens", func() (bool, error) {
		return c.portHolder("node-1", 10250) != "", nil
	}); err != nil {
		return err
	}
	if err := b.says(ctx, exitFault, []string{"port 10250 of node-1 is in use by process",
		fmt.Sprint(stranger.PID), "busybox nc"}, "start", "node-1/kubelet"); err != nil {
		return err
	}
	if !stranger.alive() {
		return errors.New("the stranger was ended")
	}
	stranger.end(0)
	_, err = b.cluster(ctx, 0, "start", "node-1/kubelet")
	return err
}

// tinyDisk puts a file system of that size where the cluster is to be.
func tinyDisk(b *bench, mebibytes int) error {
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	b.undo = append(b.undo, func() { _ = syscall.Unmount(b.dir, 0); _ = os.Remove(b.dir) })
	return syscall.Mount("tmpfs", b.dir, "tmpfs", 0, fmt.Sprintf("mode=700,size=%dm", mebibytes))
}

func trySmallDisk(ctx context.Context, b *bench) error {
	if err := tinyDisk(b, 16); err != nil {
		return err
	}
	return b.says(ctx, exitFault, []string{"the disk of " + b.dir, "16 MiB left"}, "up")
}

// tryFullDisk fills the disk as soon as the cluster has begun to come up.
func tryFullDisk(ctx context.Context, b *bench) error {
	if err := tinyDisk(b, spaceMiB+8); err != nil {
		return err
	}
	defer func() {
		_ = os.Remove(filepath.Join(b.dir, "filler"))
		_ = os.Remove(filepath.Join(b.dir, "filler2"))
	}()
	filling, stop := context.WithCancel(ctx)
	filled := make(chan struct{})
	go func() {
		defer close(filled)
		_ = until(filling, time.Minute, "", func() (bool, error) {
			_, err := os.Stat(filepath.Join(b.dir, "cluster.json"))
			return err == nil, nil
		})
		_ = os.WriteFile(filepath.Join(b.dir, "filler"), make([]byte, spaceMiB<<20), 0o600)
		_ = exec.CommandContext(filling, "dd", "if=/dev/zero", "of="+filepath.Join(b.dir, "filler2"),
			"bs=4k").Run()
	}()
	said, err := b.cluster(ctx, exitFault, "up")
	stop()
	<-filled
	if err != nil {
		return err
	}
	if !strings.Contains(said, "is full") && !strings.Contains(said, "no space left") {
		return fmt.Errorf("up does not say that the disk is full, but: %s", said)
	}
	return b.says(ctx, 0, []string{"stays: it holds what is not the cluster's (filler"}, "down")
}

// tryOtherDirectory has things in it that are named like a cluster's, but not its mark.
func tryOtherDirectory(ctx context.Context, b *bench) error {
	b.undo = append(b.undo, func() { os.RemoveAll(b.dir) })
	things := []string{"cluster.json", "logs/old.log", "node-1/lib/letter", "thesis.tex"}
	for _, name := range things {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			return err
		}
	}
	for _, verb := range []string{"up", "down"} {
		if err := b.says(ctx, exitUsage, []string{"holds other things (cluster.json)"},
			verb); err != nil {
			return err
		}
	}
	for _, name := range things {
		if _, err := os.Stat(filepath.Join(b.dir, name)); err != nil {
			return fmt.Errorf("something of others was removed: %w", err)
		}
	}
	return os.RemoveAll(b.dir)
}

// tryOwnedByOthers: a directory that somebody else prepared would say which programs run as root.
func tryOwnedByOthers(ctx context.Context, b *bench) error {
	b.undo = append(b.undo, func() { os.RemoveAll(b.dir) })
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return err
	}
	state := fmt.Sprintf(`{"programs":{"kube":"/bin/false"},"holders":{"control":{"pid":%d}}}`,
		os.Getpid())
	if err := os.WriteFile(filepath.Join(b.dir, "cluster.json"), []byte(state), 0o600); err != nil {
		return err
	}
	if err := os.Chown(b.dir, nobody, nobody); err != nil {
		return err
	}
	for _, verb := range []string{"up", "down", "status", "kubectl", "stop"} {
		if err := b.says(ctx, exitUsage, []string{"belongs to user 65534"}, verb); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}

// tryInterrupted is Ctrl-C in the midst of another run of this program's trials, at the moment when
// its cluster has just begun to come up, and then in the midst of one that is up.
func tryInterrupted(ctx context.Context, b *bench) error {
	for _, moment := range []string{"c/cluster.json", "pod.json"} {
		if err := interruptAt(ctx, b, moment); err != nil {
			return fmt.Errorf("at %s: %w", moment, err)
		}
	}
	return nil
}

// interruptAt waits for a file of the trial, whose directory is the one that was not there before.
func interruptAt(ctx context.Context, b *bench, moment string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pattern := filepath.Join(os.TempDir(), trialPrefix+"*")
	before, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	run, err := b.background(self, "selftest", "a Pod runs")
	if err != nil {
		return err
	}
	var own string
	if err := until(ctx, time.Minute, "the trial's "+moment, func() (bool, error) {
		now, _ := filepath.Glob(pattern)
		own = strings.Join(slices.DeleteFunc(now, func(dir string) bool {
			return slices.Contains(before, dir)
		}), "")
		_, err := os.Stat(filepath.Join(own, moment))
		return err == nil, nil
	}); err != nil {
		return err
	}
	run.signal(syscall.SIGINT)
	if !run.gone(time.Minute) {
		return errors.New("the interrupted run does not end")
	}
	if _, err := os.Stat(own); err == nil {
		return fmt.Errorf("%s is left behind", own)
	}
	return nil
}

const nobody = 65534

// tryLacking hides the machine's programs from the search path, and comes as nobody.
func tryLacking(ctx context.Context, b *bench) error {
	b.env, b.user = []string{"PATH=/nowhere"}, nobody
	defer func() { b.env, b.user = nil, 0 }()
	if err := os.Chmod(filepath.Dir(b.dir), 0o755); err != nil {
		return err
	}
	return b.says(ctx, exitFault, []string{"this machine cannot run a Kubernetes node",
		"it takes root", "runc is missing: Debian's package runc", "iproute2", "iptables",
		"namespaces (mount, network, host name) cannot be made", "no control group can be made"}, "up")
}

func tryFlags(ctx context.Context, b *bench) error {
	if err := b.says(ctx, exitUsage, []string{"--version 1.20: there are 1.34 and 1.37",
		"--nodes 0: must be 1 to 32", "--feature-gates X=maybe"}, "up", "--version", "1.20",
		"--nodes", "0", "--feature-gates", "X=maybe"); err != nil {
		return err
	}
	return b.says(ctx, exitUsage, []string{"flag provided but not defined"}, "up", "--node")
}
