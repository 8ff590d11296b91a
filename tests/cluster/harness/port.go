package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portHolder names the process that listens on a TCP port of a namespace; "" when nobody does. A
// part that finds its port taken says so in its own way after a while; we say it before.
func (c *cluster) portHolder(place string, port int) string {
	holder := c.state.Holders[place].PID
	for _, table := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", holder, table))
		for _, line := range strings.Split(string(text), "\n") {
			if inode := listener(line, port); inode != "" {
				return ownerOfSocket(inode)
			}
		}
	}
	return ""
}

// listener gives the socket's inode if a line of the kernel's table is one that listens on port.
func listener(line string, port int) (inode string) {
	const listening = "0A"
	fields := strings.Fields(line)
	if len(fields) < 10 || fields[3] != listening {
		return ""
	}
	_, hex, _ := strings.Cut(fields[1], ":")
	if have, err := strconv.ParseUint(hex, 16, 16); err != nil || int(have) != port {
		return ""
	}
	return fields[9]
}

func ownerOfSocket(inode string) string {
	handles, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, handle := range handles {
		if target, _ := os.Readlink(handle); target == "socket:["+inode+"]" {
			pid, _ := strconv.Atoi(strings.Split(handle, "/")[2])
			return fmt.Sprintf("process %d (%s)", pid, process{PID: pid}.command())
		}
	}
	return "a process that is not to be seen from here"
}
