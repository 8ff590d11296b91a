// Package stories shows what Galen does on a real Kubernetes, a test a story. `./dev test cluster`
// runs them all on each version; README.md beside this file says how to run one, and how to write
// one.
//
// This file knows a running cluster, process.go the programs that a story runs on its nodes,
// pods.go what it asks of Pods. Everything a story makes goes away with the story.
package stories

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are what `./dev cluster up` takes.
type Options struct {
	Version       string // "1.37" or "1.34"
	Nodes         int    // 0 is one
	FeatureGates  string
	RuntimeConfig string
}

// Usual is what stories of a version run on: its own defaults, and of 1.34 what was alpha there and
// is on in 1.37.
func Usual(version string) Options {
	if version == "1.34" {
		return Options{Version: version, RuntimeConfig: "resource.k8s.io/v1alpha3=true",
			FeatureGates: "ResourceHealthStatus=true,DRADeviceTaints=true," +
				"DRAConsumableCapacity=true,DRAExtendedResource=true"}
	}
	return Options{Version: version}
}

// A Cluster is one that runs.
type Cluster struct {
	Dir     string               // of the cluster; <Dir>/node-1/lib is node-1's /var/lib
	Version string               // "1.37" or "1.34"
	API     kubernetes.Interface // as administrator
	Config  *rest.Config         // for clients of other kinds
	// Where stories' programs write, and the cluster's logs go after a failure.
	Logs string
}

// downWithin bounds the end of a cluster: its Pods get ten seconds.
const downWithin = time.Minute

// Up brings a cluster up in dir; its progress, and what the machine lacks for it, goes to standard
// error. A cluster that is up there with the same options is taken as it is. After an error nothing
// is left but logs.
func Up(ctx context.Context, dir string, o Options) (*Cluster, error) {
	args := []string{"up", "--dir", dir, "--version", o.Version, "--nodes",
		fmt.Sprint(max(o.Nodes, 1))}
	if o.FeatureGates != "" {
		args = append(args, "--feature-gates", o.FeatureGates)
	}
	if o.RuntimeConfig != "" {
		args = append(args, "--runtime-config", o.RuntimeConfig)
	}
	command := door(ctx, args...)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("no cluster of Kubernetes %s: ./dev cluster %s: %w", o.Version,
			strings.Join(args, " "), err)
	}
	return Attach(dir, o.Version)
}

// Attach finds a cluster that is up.
func Attach(dir, version string) (*Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(dir, "kubeconfig"))
	if err != nil {
		return nil, fmt.Errorf("no cluster in %s: %w", dir, err)
	}
	// A story's own requests are never what it waits for.
	config.QPS, config.Burst = 200, 400
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir, Version: version, API: client, Config: config, Logs: logsOf(dir, version)}
	return c, os.MkdirAll(c.Logs, 0o755)
}

// ownPlace is the last word of a cluster's directory that a run of the stories chose by itself.
const ownPlace = "cluster"

// logsOf keeps runs apart that go on side by side in directories people chose.
func logsOf(dir, version string) string {
	name := "stories-" + version
	if filepath.Base(dir) != ownPlace {
		name += "-" + filepath.Base(dir)
	}
	return filepath.Join(Root(), "build", "logs", name)
}

// logBelow keeps this cluster's logs with those of another, whose run they are part of: by its own
// directory, which is a new one each time, they would pile up.
func (c *Cluster) logBelow(t testing.TB, other *Cluster) {
	t.Helper()
	if err := os.Remove(c.Logs); err != nil {
		t.Fatal(err)
	}
	c.Logs = filepath.Join(other.Logs, filepath.Base(c.Dir))
	if err := os.RemoveAll(c.Logs); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.Logs, 0o755); err != nil {
		t.Fatal(err)
	}
}

// Down ends the cluster and everything that runs on its nodes. Right in every state.
func Down(dir string) error {
	ctx, stop := context.WithTimeout(context.Background(), downWithin)
	defer stop()
	if said, err := door(ctx, "down", "--dir", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("the cluster does not come down (%w): %s; ./dev cluster down --dir %s tries "+
			"again", err, bytes.TrimSpace(said), dir)
	}
	return nil
}

// Root is the repository's root: the directory above that holds ./dev.
func Root() string {
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "tests", "cluster", "harness")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	panic("stories run from inside the repository, beside tests/cluster/harness")
}

// door is ./dev cluster, asked to end when ctx does: a harness that is asked ends what it began.
func door(ctx context.Context, args ...string) *exec.Cmd {
	return gentle(exec.CommandContext(ctx, filepath.Join(Root(), "dev"),
		append([]string{"cluster"}, args...)...))
}

// harness is what the door leads to, without its checks of packages and sources: a tenth of the
// time.
func (c *Cluster) harness(ctx context.Context, verb string, args ...string) *exec.Cmd {
	command := gentle(exec.CommandContext(ctx, filepath.Join(Root(), "build", "cluster", "harness"),
		append([]string{verb, "--dir", c.Dir}, args...)...))
	command.Env = append(os.Environ(),
		"GALEN_CLUSTER_SOURCES="+filepath.Join(Root(), "tests", "cluster"))
	return command
}

func gentle(command *exec.Cmd) *exec.Cmd {
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 30 * time.Second
	return command
}

// Is reports whether the cluster has this version: some behaviour of Kubernetes differs.
func (c *Cluster) Is(version string) bool { return c.Version == version }

// Harness runs a command of `./dev cluster` and gives back what it said; the story fails when it
// does.
func (c *Cluster) Harness(t testing.TB, verb string, args ...string) string {
	t.Helper()
	said, err := c.harness(t.Context(), verb, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("./dev cluster %s %s: %v: %s", verb, strings.Join(args, " "), err, said)
	}
	return string(said)
}

// Kill ends parts ("node-1/kubelet", "apiserver") or a whole node ("node-1") without a warning.
func (c *Cluster) Kill(t testing.TB, parts ...string) {
	t.Helper()
	c.Harness(t, "stop", append([]string{"--kill"}, parts...)...)
}

// Start starts what was killed, and returns when it serves.
func (c *Cluster) Start(t testing.TB, parts ...string) {
	t.Helper()
	c.Harness(t, "start", parts...)
}

// PartLog is what a part ("node-1/kubelet") has written so far.
func (c *Cluster) PartLog(t testing.TB, part string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, "logs", strings.ReplaceAll(part, "/", "-")+".log"))
	if err != nil {
		t.Fatalf("the log of %s: %v", part, err)
	}
	return string(text)
}

// KubectlError runs kubectl as administrator and gives back what it said.
func (c *Cluster) KubectlError(ctx context.Context, stdin string, args ...string) (string, error) {
	command := c.harness(ctx, "kubectl", args...)
	command.Stdin = strings.NewReader(stdin)
	said, err := command.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(said))
	}
	return string(said), err
}

// Kubectl is KubectlError whose failure is the story's.
func (c *Cluster) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	said, err := c.KubectlError(t.Context(), "", args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

// Apply makes objects from YAML, as a user would; ns is for those that have none of their own.
func (c *Cluster) Apply(t testing.TB, ns, yaml string) {
	t.Helper()
	if said, err := c.KubectlError(t.Context(), yaml, "apply", "-n", ns, "-f", "-"); err != nil {
		t.Fatalf("%v: %s\n%s", err, said, yaml)
	}
}

// Eventually looks until it holds, 20 times a second; look says what it saw, for the failure.
func Eventually(t testing.TB, what string, limit time.Duration, look func() (bool, string)) {
	t.Helper()
	last := ""
	for begin := time.Now(); time.Since(begin) < limit; time.Sleep(50 * time.Millisecond) {
		holds, saw := look()
		if holds {
			return
		}
		last = saw
	}
	t.Fatalf("not within %v: %s; last seen: %s", limit, what, last)
}

// keepLogs copies what the cluster's parts wrote; they go away with the cluster.
func (c *Cluster) keepLogs() error {
	files, err := filepath.Glob(filepath.Join(c.Dir, "logs", "*.log"))
	for _, file := range files {
		text, readErr := os.ReadFile(file)
		err = errors.Join(err, readErr,
			os.WriteFile(filepath.Join(c.Logs, filepath.Base(file)), text, 0o644))
	}
	return err
}
