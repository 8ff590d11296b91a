// Package galentable holds Galen's allocator against Kubernetes' own: both get the same question,
// and what they answer is compared.
package galentable

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"

	v1 "k8s.io/api/core/v1"
	api "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// Device names a device in a question.
type Device struct {
	Driver string `json:"driver"`
	Pool   string `json:"pool"`
	Device string `json:"device"`
}

// Consumed is what shares of a device have of its capacity.
type Consumed struct {
	Device
	Amounts map[string]string `json:"amounts"`
}

// Held is all that claims have.
type Held struct {
	Devices []Device   `json:"devices"`
	Shares  []Device   `json:"shares"`
	Amounts []Consumed `json:"amounts"`
}

// Options says whose allocator is meant.
type Options struct {
	Minor    int             `json:"minor"`
	Variant  string          `json:"variant"`
	Features map[string]bool `json:"features"`
}

// Question is one call of Allocate.
type Question struct {
	Options Options              `json:"options"`
	Held    Held                 `json:"held"`
	Classes []*api.DeviceClass   `json:"classes"`
	Slices  []*api.ResourceSlice `json:"slices"`
	Node    *v1.Node             `json:"node"`
	Claims  []*api.ResourceClaim `json:"claims"`
}

// Answer is what Galen says: "fits", "no fit", "node error", "error" or "cannot tell".
type Answer struct {
	Verdict string                 `json:"verdict"`
	Results []api.AllocationResult `json:"results"`
	Message string                 `json:"message"`
	Calls   int64                  `json:"calls"`
}

// Peer is a running program that answers for Galen.
type Peer struct {
	command *exec.Cmd
	input   io.WriteCloser
	output  *bufio.Reader
}

// StartPeer starts the program: that of the C++ build, or the one that $GALEN_ALLOC_PEER names.
func StartPeer() (*Peer, error) {
	program := os.Getenv("GALEN_ALLOC_PEER")
	if program == "" {
		program = filepath.Join("..", "..", "..", "..", "build", "release", "tests", "alloc-peer")
	}
	peer := &Peer{command: exec.Command(program, "allocate")}
	peer.command.Stderr = os.Stderr
	var err error
	if peer.input, err = peer.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := peer.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	peer.output = bufio.NewReaderSize(output, 1<<20)
	return peer, peer.command.Start()
}

// Ask sends a line and reads one.
func (p *Peer) Ask(question *Question) (*Answer, []byte, error) {
	line, err := json.Marshal(question)
	if err != nil {
		return nil, nil, err
	}
	if _, err := p.input.Write(append(line, '\n')); err != nil {
		return nil, line, err
	}
	text, err := p.output.ReadBytes('\n')
	if err != nil {
		return nil, line, fmt.Errorf("the peer ended: %w", err)
	}
	answer := &Answer{}
	return answer, line, json.Unmarshal(text, answer)
}

// Stop ends the program.
func (p *Peer) Stop() error {
	p.input.Close()
	return p.command.Wait()
}

// HeldOf writes down upstream's state, in an order.
func HeldOf(state schedulerapi.AllocatedState) Held {
	held := Held{Devices: []Device{}, Shares: []Device{}, Amounts: []Consumed{}}
	for id := range state.AllocatedDevices {
		held.Devices = append(held.Devices, deviceOf(id))
	}
	for id := range state.AllocatedSharedDeviceIDs {
		held.Shares = append(held.Shares, deviceOf(id.GetDeviceID()))
	}
	for id, amounts := range state.AggregatedCapacity {
		consumed := Consumed{Device: deviceOf(id), Amounts: map[string]string{}}
		for name, amount := range amounts {
			consumed.Amounts[string(name)] = amount.String()
		}
		held.Amounts = append(held.Amounts, consumed)
	}
	sort.Slice(held.Devices, func(i, j int) bool { return less(held.Devices[i], held.Devices[j]) })
	sort.Slice(held.Shares, func(i, j int) bool { return less(held.Shares[i], held.Shares[j]) })
	sort.Slice(held.Amounts, func(i, j int) bool {
		return less(held.Amounts[i].Device, held.Amounts[j].Device)
	})
	return held
}

func deviceOf(id schedulerapi.DeviceID) Device {
	return Device{Driver: id.Driver.String(), Pool: id.Pool.String(), Device: id.Device.String()}
}

func less(a, b Device) bool {
	if a.Driver != b.Driver {
		return a.Driver < b.Driver
	}
	if a.Pool != b.Pool {
		return a.Pool < b.Pool
	}
	return a.Device < b.Device
}
