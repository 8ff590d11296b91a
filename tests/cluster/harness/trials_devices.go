package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// startDriver runs the reference driver beside node-1's kubelet until the trial ends.
func startDriver(ctx context.Context, b *bench) error {
	// Built first, so that the wait below is for the driver and not for a compiler.
	if _, err := b.cluster(ctx, 0, "build", "--all"); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if _, err := b.background(self, "driver", "--dir", b.dir, "node-1"); err != nil {
		return err
	}
	// The node's /run is a directory of the cluster, so its sockets are in reach from here.
	return until(ctx, 20*time.Second, "the driver takes commands", func() (bool, error) {
		return b.tell("show") == nil, nil
	})
}

// tell sends the driver a command, as a program outside of the namespaces would.
func (b *bench) tell(command string) error {
	sources, err := sourceDirectory()
	if err != nil {
		return err
	}
	hash, err := driverModule.hash(sources)
	if err != nil {
		return err
	}
	cache, err := cacheDirectory()
	if err != nil {
		return err
	}
	said, err := exec.Command(filepath.Join(cache, hash, "reference-driver"), "tell",
		filepath.Join(b.dir, "node-1", "run", "ref.example.com.sock"), command).CombinedOutput()
	if err != nil {
		return fmt.Errorf("tell the driver %s: %w: %s", command, err, said)
	}
	return nil
}

// podSays waits until the Pod's status of its devices contains a text.
func podSays(ctx context.Context, b *bench, words ...string) error {
	var said string
	err := until(ctx, 20*time.Second, "the Pod's devices", func() (bool, error) {
		var err error
		said, err = b.cluster(ctx, 0, "kubectl", "get", "pod", "holder", "-o",
			"jsonpath={.status.containerStatuses[*].allocatedResourcesStatus}")
		for _, word := range words {
			if !strings.Contains(said, word) {
				return false, err
			}
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("%w; wanted %q, the Pod says %s", err, words, said)
	}
	return nil
}

func tryDriver(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up"); err != nil {
		return err
	}
	if err := startDriver(ctx, b); err != nil {
		return err
	}
	if err := createHolder(ctx, b); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"DEV_0="}, "kubectl", "logs", "holder"); err != nil {
		return err
	}
	if err := podSays(ctx, b, "Healthy", "claim:device"); err != nil {
		return err
	}
	if err := b.tell("health dev-0 Unhealthy it fell off the bus"); err != nil {
		return err
	}
	if err := podSays(ctx, b, "Unhealthy", "it fell off the bus"); err != nil {
		return err
	}
	if err := b.tell("devices 200"); err == nil {
		return errors.New("200 devices are more than a slice takes, and the driver says ok")
	}
	return nil
}

// createHolder makes the Pod of the driver's example and waits until it runs.
func createHolder(ctx context.Context, b *bench) error {
	sources, err := sourceDirectory()
	if err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "kubectl", "apply", "-f",
		filepath.Join(sources, "driver", "example.yaml")); err != nil {
		return err
	}
	_, err = b.cluster(ctx, 0, "kubectl", "wait", "--for=condition=Ready", "pod/holder",
		"--timeout=60s")
	return err
}

func tryNodes(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up", "--nodes", "3"); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "stop", "--kill", "node-3"); err != nil {
		return err
	}
	if err := b.says(ctx, exitFault, []string{"node-3 is not running"}, "exec", "node-3", "--",
		"true"); err != nil {
		return err
	}
	if _, err := b.cluster(ctx, 0, "start", "node-3"); err != nil {
		return err
	}
	return b.says(ctx, 0, []string{"node-1", "node-2", "node-3"}, "kubectl", "get", "nodes")
}

// tryOldRelease: its kubelet streams health where its gate is on, and writes none (1.34.4 as is).
func tryOldRelease(ctx context.Context, b *bench) error {
	if _, err := b.cluster(ctx, 0, "up", "--version", "1.34", "--feature-gates",
		"ResourceHealthStatus=true"); err != nil {
		return err
	}
	if err := startDriver(ctx, b); err != nil {
		return err
	}
	if err := createHolder(ctx, b); err != nil {
		return err
	}
	if err := b.says(ctx, 0, []string{"DEV_0="}, "kubectl", "logs", "holder"); err != nil {
		return err
	}
	return b.says(ctx, 0, []string{"v1.34.4"}, "kubectl", "get", "nodes")
}
