package main

import (
	"fmt"
	"sync"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

// A board holds what the driver pretends: its devices' health and how it misbehaves. Commands write
// it, streams and requests read it; everybody who waits for a change is woken by one.
type board struct {
	mu      sync.Mutex // commands, streams and requests come on goroutines of their own
	changed chan struct{}
	node    string
	uuids   string // how devices' UUIDs begin; "": they have none
	timeout time.Duration
	devices []deviceState
	stream  string // "on", "silent" or "end"
	prepare string // "ok" or a way to be wrong
	hanging int    // prepares that were told to hang and still do
	single  bool   // whether only the newest stream is served
	newest  int    // the number of that stream
	open    int    // streams
}

// deviceState is one device as `show` prints it.
type deviceState struct {
	Name    string                     `json:"name"`
	Health  kubeletplugin.HealthStatus `json:"health"`
	Message string                     `json:"message,omitempty"`
	Timeout time.Duration              `json:"timeoutNanoseconds"`
}

func newBoard(o options) *board {
	b := &board{changed: make(chan struct{}), node: o.node, uuids: o.uuids,
		timeout: o.timeout, stream: "on", prepare: "ok", single: o.single}
	b.resize(o.devices)
	return b
}

// change alters the board and wakes all who wait.
func (b *board) change(alter func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	alter()
	close(b.changed)
	b.changed = make(chan struct{})
}

// resize keeps what is known of devices that stay. The caller holds the lock or is alone.
func (b *board) resize(count int) {
	for number := len(b.devices); number < count; number++ {
		b.devices = append(b.devices, deviceState{Name: fmt.Sprintf("dev-%d", number),
			Health: kubeletplugin.HealthStatusHealthy, Timeout: b.timeout})
	}
	b.devices = b.devices[:count]
}

// report is what streams send now, how long it holds, and what to wait on for the next one.
func (b *board) report() (kubeletplugin.DeviceHealthReport, time.Duration, string, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var report kubeletplugin.DeviceHealthReport
	shortest := b.timeout
	for _, d := range b.devices {
		shortest = min(shortest, d.Timeout)
		report.Devices = append(report.Devices, kubeletplugin.DeviceHealth{
			PoolName: b.node, DeviceName: d.Name, Health: d.Health, Message: d.Message,
			HealthCheckTimeout: d.Timeout, LastUpdated: time.Now()})
	}
	return report, shortest, b.stream, b.changed
}

// join counts a stream in and gives its number; leave counts it out.
func (b *board) join() (number int, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Nobody is woken: a stream that comes is no news to the others.
	b.open, b.newest = b.open+1, b.newest+1
	return b.newest, func() { b.count(&b.open, -1) }
}

// serves reports whether the stream of this number is to be sent anything.
func (b *board) serves(number int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.single || number == b.newest
}

// count adds to one of the board's numbers, which nobody waits for.
func (b *board) count(number *int, add int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*number += add
}

// misbehaviour is how the next answers are to be wrong.
func (b *board) misbehaviour() (string, chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.prepare, b.changed
}

func (b *board) resources() resourceslice.DriverResources {
	b.mu.Lock()
	defer b.mu.Unlock()
	model := "reference"
	var devices []resourceapi.Device
	for i, d := range b.devices {
		index := int64(i)
		attributes := map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{
			"model": {StringValue: &model}, "index": {IntValue: &index}}
		if b.uuids != "" {
			uuid := fmt.Sprintf("%s%d", b.uuids, i)
			attributes["uuid"] = resourceapi.DeviceAttribute{StringValue: &uuid}
		}
		devices = append(devices, resourceapi.Device{Name: d.Name, Attributes: attributes})
	}
	return resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{
		b.node: {Slices: []resourceslice.Slice{{Devices: devices}}}}}
}
