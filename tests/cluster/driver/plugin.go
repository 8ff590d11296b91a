package main

import (
	"context"
	"errors"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
)

// plugin is what the helper calls. It answers as the board says.
type plugin struct {
	board *board
	specs specs
}

var _ kubeletplugin.DRAPlugin = &plugin{}

func (p *plugin) PrepareResourceClaims(ctx context.Context, claims []*resourceapi.ResourceClaim) (
	map[types.UID]kubeletplugin.PrepareResult, error) {
	how, changed := p.board.misbehaviour()
	switch how {
	case "fail":
		return nil, errors.New("the reference driver was told to fail")
	case "hang":
		p.board.count(&p.board.hanging, 1)
		for how == "hang" && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-changed:
				how, changed = p.board.misbehaviour()
			}
		}
		p.board.count(&p.board.hanging, -1)
		return nil, errors.New("the reference driver was told to hang")
	case "missing":
		return map[types.UID]kubeletplugin.PrepareResult{}, nil
	}
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		result := p.prepare(claim, how)
		uid := claim.UID
		if how == "wrong-uid" {
			uid = "00000000-0000-0000-0000-000000000000"
		}
		results[uid] = result
		klog.InfoS("prepared", "claim", klog.KObj(claim), "uid", claim.UID, "error", result.Err)
	}
	return results, nil
}

// prepare writes one specification for the claim and names its devices.
func (p *plugin) prepare(claim *resourceapi.ResourceClaim, how string) kubeletplugin.PrepareResult {
	var result kubeletplugin.PrepareResult
	var names []string
	for _, allocated := range claim.Status.Allocation.Devices.Results {
		if allocated.Driver != p.specs.driver {
			continue
		}
		id := p.specs.id(claim.UID, allocated.Device)
		if how == "bad-cdi" {
			id = "this is no name of a device"
		}
		names = append(names, allocated.Device)
		result.Devices = append(result.Devices, kubeletplugin.Device{
			Requests: []string{allocated.Request}, PoolName: allocated.Pool,
			DeviceName: allocated.Device, CDIDeviceIDs: []string{id}, ShareID: allocated.ShareID})
	}
	result.Err = p.specs.write(claim.UID, names)
	return result
}

func (p *plugin) UnprepareResourceClaims(_ context.Context,
	claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		results[claim.UID] = p.specs.remove(claim.UID)
		klog.InfoS("unprepared", "claim", claim.String(), "error", results[claim.UID])
	}
	return results, nil
}

// HandleError: what the helper meets in the background is logged; it tries again by itself.
func (p *plugin) HandleError(_ context.Context, err error, message string) {
	klog.ErrorS(err, message)
}

// WatchHealthStatus sends the whole board at once, on every change, and thrice within the time that
// a report holds. With --single only the newest stream gets it. Asked to be silent it keeps the
// stream and sends nothing; asked to end, it ends.
func (p *plugin) WatchHealthStatus(ctx context.Context,
	reports chan<- kubeletplugin.DeviceHealthReport) error {
	number, leave := p.board.join()
	defer leave()
	for {
		report, holds, stream, changed := p.board.report()
		if !p.board.serves(number) {
			stream = "silent"
		}
		switch stream {
		case "end":
			return errors.New("the reference driver was told to end its streams")
		case "on":
			select {
			case <-ctx.Done():
				return nil
			case reports <- report:
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(holds / 3):
		}
	}
}
