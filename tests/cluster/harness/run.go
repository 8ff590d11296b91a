package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Commands of a person's own, with the cluster's programs and in its places. Each becomes the
// command, so that its exit code, its signals and its id are the command's.

// kubectl is the verb: the cluster's own, which has its version, as the administrator.
func kubectl(_ context.Context, args []string) error {
	c, args, err := leadingDir(args)
	if err != nil {
		return err
	}
	if err := c.mustRun(); err != nil {
		return err
	}
	program := c.state.Programs["kube"]
	command := append([]string{"kubectl", "kubectl", "--kubeconfig", c.kubeconfig()}, args...)
	return fmt.Errorf("run %s: %w", program, syscall.Exec(program, command, os.Environ()))
}

// execInNode is the verb: NODE -- COMMAND….
func execInNode(_ context.Context, args []string) error {
	line := newCommandLine("exec")
	c, words, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(words) < 2 {
		return usageFault("exec needs a node and a command: ./dev cluster exec node-1 -- ip address")
	}
	return c.execute(words[0], words[1:])
}

// execute keeps the caller's environment and directory, and adds what finds the cluster.
func (c *cluster) execute(place string, command []string) error {
	if err := c.mustRun(); err != nil {
		return err
	}
	if !slices.Contains(c.namespaces(), place) {
		return usageFault("no node %s; there are %s", place, strings.Join(c.namespaces(), ", "))
	}
	os.Setenv("PATH", c.searchPath()+":"+os.Getenv("PATH"))
	os.Setenv("KUBECONFIG", c.kubeconfig())
	os.Setenv("NODE_NAME", place)
	directory, err := os.Getwd()
	if err != nil {
		directory = "/"
	}
	return c.become(place, directory, command)
}

// driver is the verb: the reference driver, beside a node's kubelet.
func driver(ctx context.Context, args []string) error {
	c, args, err := leadingDir(args)
	if err != nil {
		return err
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return usageFault("driver needs a node: ./dev cluster driver node-1")
	}
	programs, err := buildModules(ctx, newProgress(), []module{driverModule})
	if err != nil {
		return err
	}
	return c.execute(args[0], append([]string{programs["reference-driver"]}, args[1:]...))
}

// logs is the verb: a part's log, or which there are.
func logs(ctx context.Context, args []string) error {
	line := newCommandLine("logs")
	follow := line.flags.Bool("f", false, "")
	c, words, err := line.parse(args)
	if err != nil {
		return err
	}
	if len(words) == 0 {
		return c.listLogs()
	}
	file, err := os.Open(c.logPath(words[0]))
	if errors.Is(err, os.ErrNotExist) {
		return errors.Join(usageFault("no log of %s; there are:", words[0]), c.listLogs())
	}
	if err != nil {
		return err
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	for {
		if _, err := io.Copy(os.Stdout, reader); err != nil || !*follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *cluster) listLogs() error {
	files, _ := filepath.Glob(c.path("logs", "*.log"))
	if len(files) == 0 {
		return fmt.Errorf("no logs in %s", c.path("logs"))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".log")
		for _, p := range c.parts() {
			if strings.ReplaceAll(p.name, "/", "-") == name {
				name = p.name
			}
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		fmt.Printf("%-20s %8d KiB  %s\n", name, info.Size()>>10, file)
	}
	return nil
}
