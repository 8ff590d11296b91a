package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A cluster's directory says which programs run as root and which processes are ended, and `down`
// removes what is in it. So it must be the caller's own, and marked as this very cluster's; and
// only names that a cluster writes are ever removed from it.

// markName is the file that marks a directory as a cluster's: it holds the cluster's id. It is made
// in an empty directory only, and is the last that goes.
const markName = "galen-cluster"

// isOurs says whether a cluster writes an entry of that name into its directory.
func isOurs(name string) bool {
	if slices.Contains([]string{markName, "cluster.json", "cluster.json.new", "logs", "keys", "etcd",
		"images.tar", "kubeconfig", controlName}, name) {
		return true
	}
	number, isNode := strings.CutPrefix(name, "node-")
	n, err := strconv.Atoi(number)
	return isNode && err == nil && n >= 1 && n <= nodesMax && name == nodeName(n)
}

// checkOwner refuses a directory that somebody else made or may write to: the default one has a
// name that everybody can guess, below a directory that everybody can write to. None at all is
// well.
func checkOwner(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	switch stat, _ := info.Sys().(*syscall.Stat_t); {
	case info.Mode()&fs.ModeSymlink != 0:
		return usageFault("--dir %s is a link; name the directory itself", dir)
	case !info.IsDir():
		return usageFault("--dir %s is no directory", dir)
	case int(stat.Uid) != os.Geteuid():
		return usageFault("--dir %s belongs to user %d, and you are user %d: its owner would choose "+
			"what runs for you; name another --dir", dir, stat.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return usageFault("--dir %s can be written to by others (mode %04o): they would choose what "+
			"runs for you; chmod go-w it, or name another --dir", dir, info.Mode().Perm())
	}
	return nil
}

// checkDirectory refuses a directory that holds anything without being marked as this cluster's.
func (c *cluster) checkDirectory() error {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return usageFault("--dir %s: %v", c.dir, err)
	}
	text, err := os.ReadFile(c.path(markName))
	mark := strings.TrimSpace(string(text))
	switch {
	case err == nil && mark == c.id:
		return nil
	case err == nil && mark == "" && len(entries) == 1:
		return nil // a crash, or a full disk, in the midst of marking
	case err == nil:
		return usageFault("--dir %s: its file %s is of a cluster in another place (%q, and here it "+
			"would be %q); name an empty or a new directory", c.dir, markName, mark, c.id)
	}
	return usageFault("--dir %s holds other things (%s); name an empty or a new directory", c.dir,
		entries[0].Name())
}

// lock makes the directory if need be, marks it, and keeps a second `up` or `down` for it out until
// this one has ended. What is locked is the directory itself.
func (c *cluster) lock() (release func(), err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cluster's directory: %w", err)
	}
	if err := checkOwner(c.dir); err != nil {
		return nil, err
	}
	file, err := os.Open(c.dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("another ./dev cluster command is at work in %s; wait for its end", c.dir)
	}
	// Meanwhile somebody else may have filled it.
	if err := c.mark(); err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, c.load()
}

func (c *cluster) mark() error {
	if err := c.checkDirectory(); err != nil {
		return err
	}
	if info, err := os.Stat(c.path(markName)); err == nil && info.Size() > 0 {
		return nil
	}
	return os.WriteFile(c.path(markName), []byte(c.id+"\n"), 0o600)
}

// removeFiles empties the directory of what is the cluster's, but for what is to be kept, and
// removes it when nothing is left. Gives back what is not the cluster's: that stays, and the
// directory with it. So does a directory that is a mount: it was there before us.
func (c *cluster) removeFiles(keep ...string) (strangers []string, err error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		switch name := entry.Name(); {
		case !isOurs(name):
			strangers = append(strangers, name)
		case name == markName || slices.Contains(keep, name):
		default:
			if err := os.RemoveAll(c.path(name)); err != nil {
				return nil, fmt.Errorf("remove the cluster's files: %w", err)
			}
		}
	}
	if len(keep) > 0 {
		return strangers, nil
	}
	if err := os.Remove(c.path(markName)); err != nil {
		return nil, err
	}
	err = syscall.Rmdir(c.dir)
	if len(strangers) > 0 || errors.Is(err, syscall.EBUSY) {
		return strangers, nil
	}
	return nil, err
}
