package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

const commands = `health DEVICE|all Healthy|Unhealthy|Unknown [MESSAGE]; timeout DEVICE|all 5s;
stream on|silent|end; prepare ok|fail|hang|missing|wrong-uid|bad-cdi; devices N; show`

// A commander carries out commands. One line is one command; the answer is one line: "ok", what
// was asked for as JSON, or "error: …".
type commander struct {
	board      *board
	publish    func() error
	registered func() bool // whether a kubelet has taken the driver since it started
}

func listen(ctx context.Context, path string, c commander) error {
	// One that was killed leaves its socket behind.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { listener.Close() })
	fmt.Println("ready for commands at", path)
	for {
		connection, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		go c.converse(connection)
	}
}

func (c commander) converse(connection net.Conn) {
	defer connection.Close()
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		answer, err := c.do(strings.Fields(lines.Text()))
		if err != nil {
			answer = "error: " + err.Error()
		}
		if _, err := fmt.Fprintln(connection, answer); err != nil {
			return
		}
	}
}

func (c commander) do(words []string) (answer string, err error) {
	if len(words) == 1 && words[0] == "show" {
		return c.show()
	}
	if len(words) < 2 {
		return "", errors.New("commands: " + strings.ReplaceAll(commands, "\n", " "))
	}
	switch words[0] {
	case "health":
		return "ok", c.health(words[1], words[2:])
	case "timeout":
		return "ok", c.timeout(words[1], words[2:])
	case "devices":
		return "ok", c.devices(words[1])
	case "stream":
		return "ok", c.choose(&c.board.stream, words[1], "on", "silent", "end")
	case "prepare":
		return "ok", c.choose(&c.board.prepare, words[1], "ok", "fail", "hang", "missing", "wrong-uid",
			"bad-cdi")
	}
	return "", errors.New("commands: " + strings.ReplaceAll(commands, "\n", " "))
}

func (c commander) health(device string, words []string) error {
	states := []string{"Healthy", "Unhealthy", "Unknown"}
	if len(words) == 0 || !slices.Contains(states, words[0]) {
		return fmt.Errorf("health is one of %s", strings.Join(states, ", "))
	}
	return c.each(device, func(d *deviceState) {
		d.Health = kubeletplugin.HealthStatus(words[0])
		d.Message = strings.Join(words[1:], " ")
	})
}

func (c commander) timeout(device string, words []string) error {
	if len(words) != 1 {
		return errors.New("timeout needs a device and a duration such as 5s")
	}
	duration, err := time.ParseDuration(words[0])
	if err != nil {
		return err
	}
	return c.each(device, func(d *deviceState) { d.Timeout = duration })
}

// each alters the device of that name, or all.
func (c commander) each(name string, alter func(*deviceState)) error {
	err := fmt.Errorf("no device %s", name)
	c.board.change(func() {
		for i := range c.board.devices {
			if name == "all" || c.board.devices[i].Name == name {
				alter(&c.board.devices[i])
				err = nil
			}
		}
	})
	return err
}

// devicesMax: what one slice takes.
const devicesMax = 128

func (c commander) devices(word string) error {
	count, err := strconv.Atoi(word)
	if err != nil || count < 0 || count > devicesMax {
		return fmt.Errorf("devices must be 0 to %d", devicesMax)
	}
	c.board.change(func() { c.board.resize(count) })
	return c.publish()
}

func (c commander) choose(field *string, word string, allowed ...string) error {
	if !slices.Contains(allowed, word) {
		return fmt.Errorf("must be one of %s", strings.Join(allowed, ", "))
	}
	c.board.change(func() { *field = word })
	return nil
}

func (c commander) show() (string, error) {
	c.board.mu.Lock()
	defer c.board.mu.Unlock()
	text, err := json.Marshal(map[string]any{"devices": c.board.devices, "stream": c.board.stream,
		"prepare": c.board.prepare, "hanging": c.board.hanging, "streams": c.board.open,
		"registered": c.registered()})
	return string(text), err
}

// tell is the client: it sends one command and prints the answer to standard output.
func tell(path, command string) error {
	connection, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, command); err != nil {
		return err
	}
	answer, err := bufio.NewReader(connection).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	fmt.Print(answer)
	if strings.HasPrefix(answer, "error: ") {
		os.Exit(1)
	}
	return nil
}
