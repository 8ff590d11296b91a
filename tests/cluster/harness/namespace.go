package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// A namespace here is a network, a mount table and a host name of its own, kept by a process that
// does nothing else: the holder. A part runs in it by way of `_enter`. Process ids stay those of
// the machine, so that a test can signal what it sees.

// startHolder makes a namespace and says when its mounts are in place.
func (c *cluster) startHolder(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	holder := exec.Command(self, "_hold", c.dir, name)
	holder.SysProcAttr = &syscall.SysProcAttr{
		Unshareflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS,
		Setsid:       true,
	}
	says, err := holder.StdoutPipe()
	if err != nil {
		return err
	}
	if err := holder.Start(); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	first, _ := bufio.NewReader(says).ReadString('\n')
	p, _ := processOf(holder.Process.Pid)
	if err := holder.Process.Release(); err != nil {
		return err
	}
	if first != "ready\n" {
		return fmt.Errorf("make namespace %s: %s", name, strings.TrimSpace(first))
	}
	c.state.Holders[name] = p
	return nil
}

// hold is the holder: it lays out the namespace and then sleeps until it is ended.
func hold(ctx context.Context, args []string) error {
	c, err := clusterAt(args[0])
	if err != nil {
		return err
	}
	name := args[1]
	if err := c.layOut(name); err != nil {
		fmt.Println(err)
		return exitWith(exitFault)
	}
	fmt.Println("ready")
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for stream := range 3 {
		if err := syscall.Dup2(int(null.Fd()), stream); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// layOut gives the namespace what a node has for itself: /var/lib, /var/log and /run, which are
// directories of the cluster, and stand-ins for the kernel's settings that a kubelet writes.
func (c *cluster) layOut(name string) error {
	if err := c.cgroup().below(name).below("host").join(); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(name)); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to ourselves: %w", err)
	}
	// Containers that ask for mount propagation get it from here, and no further than here.
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("share mounts with containers: %w", err)
	}
	if err := c.standIns(name); err != nil {
		return err
	}
	return c.ownDirectories(name)
}

// ownDirectories hides the machine's directories behind the node's own. What must stay in sight
// (the cluster itself, what was built) is put back if it lies below one of them.
func (c *cluster) ownDirectories(name string) error {
	cache, err := cacheDirectory()
	if err != nil {
		return err
	}
	for from, to := range map[string]string{"lib": "/var/lib", "log": "/var/log", "run": "/run"} {
		source := c.path(name, from)
		if err := os.MkdirAll(source, 0o755); err != nil {
			return err
		}
		var kept []*os.File
		for _, path := range []string{c.dir, cache} {
			if file, err := os.Open(path); err == nil && strings.HasPrefix(path, to+"/") {
				kept = append(kept, file)
			}
		}
		if err := bind(source, to); err != nil {
			return err
		}
		for _, file := range kept {
			if err := os.MkdirAll(file.Name(), 0o755); err != nil {
				return err
			}
			if err := bind(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), file.Name()); err != nil {
				return err
			}
		}
	}
	for _, directory := range []string{"lib/kubelet", "lib/cni", "log/pods", "log/containers",
		"run/cdi", "run/lock", "run/netns"} {
		if err := os.MkdirAll(c.path(name, directory), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// standIns are files in the place of settings that are the whole machine's. The kubelet writes
// them at its start; here it writes into the files.
func (c *cluster) standIns(name string) error {
	settings := []string{"kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
		"kernel/keys/root_maxbytes", "vm/overcommit_memory", "vm/panic_on_oom"}
	for _, setting := range settings {
		original := filepath.Join("/proc/sys", setting)
		value, err := os.ReadFile(original)
		if err != nil {
			continue // a kernel without this setting has nothing to protect
		}
		standIn := c.path(name, "settings", strings.ReplaceAll(setting, "/", "."))
		if err := os.MkdirAll(filepath.Dir(standIn), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(standIn, value, 0o644); err != nil {
			return err
		}
		if err := bind(standIn, original); err != nil {
			return err
		}
	}
	return nil
}

func bind(from, to string) error {
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s on %s: %w", from, to, err)
	}
	return nil
}

// enter turns this process into one that runs in a namespace: DIR NAME WORKDIR -- COMMAND….
func enter(_ context.Context, args []string) error {
	c, err := clusterAt(args[0])
	if err != nil {
		return err
	}
	return c.become(args[1], args[2], args[4:])
}

// become never returns when it succeeds: the process, with its id, is then the command.
func (c *cluster) become(name, directory string, command []string) error {
	holder, ok := c.state.Holders[name]
	if !ok || !holder.alive() {
		return fmt.Errorf("%s is not running in %s", name, c.dir)
	}
	if err := c.cgroup().below(name).below("host").join(); err != nil {
		return err
	}
	// A thread may change its mount table only when it shares its directory with no other thread;
	// main keeps us on the same one.
	if err := syscall.Unshare(syscall.CLONE_FS); err != nil {
		return fmt.Errorf("enter %s: %w", name, err)
	}
	for _, kind := range []string{"net", "uts", "mnt"} {
		if err := setNamespace(holder.PID, kind); err != nil {
			return fmt.Errorf("enter the %s namespace of %s: %w", kind, name, err)
		}
	}
	if err := os.Chdir(directory); err != nil {
		_ = os.Chdir("/")
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return usageFault("%v", err)
	}
	return fmt.Errorf("run %s: %w", path, syscall.Exec(path, command, os.Environ()))
}

func setNamespace(pid int, kind string) error {
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		return err
	}
	defer file.Close()
	if _, _, errno := syscall.RawSyscall(setnsNumber[runtime.GOARCH], file.Fd(), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// setnsNumber: the syscall package has no name for setns.
var setnsNumber = map[string]uintptr{"amd64": 308, "arm64": 268}
