package stories

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The devices of the story of explain_test.go: slices of every shape that 1.37 has.

type attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
type capacities = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity

func pointer[T any](value T) *T { return &value }

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

func ofString(value string) resourcev1.DeviceAttribute {
	return resourcev1.DeviceAttribute{StringValue: &value}
}

func ofInt(value int) resourcev1.DeviceAttribute {
	return resourcev1.DeviceAttribute{IntValue: pointer(int64(value))}
}

func ofAmount(text string) resourcev1.DeviceCapacity {
	return resourcev1.DeviceCapacity{Value: resource.MustParse(text)}
}

func plainSlice(name, driver, pool string, devices ...resourcev1.Device) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "explain-" + name},
		Spec: resourcev1.ResourceSliceSpec{Driver: driver, Devices: devices,
			Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: 1}}}
}

func onNode(slice *resourcev1.ResourceSlice, node string) *resourcev1.ResourceSlice {
	slice.Spec.NodeName = &node
	return slice
}

// ofPool makes slices the parts of one pool.
func ofPool(parts ...*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	for _, each := range parts {
		each.Spec.Pool.ResourceSliceCount = int64(len(parts))
	}
	return parts
}

func inZone(zone string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
			Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}
}

func (w *explainWorld) allSlices(rng *rand.Rand) []*resourcev1.ResourceSlice {
	all := append(fabricSlices(rng), brokenSlices(rng)...)
	for _, node := range explainNodes {
		one := onNode(plainSlice("gpu-1-"+node, explainGPU, node, gpus(rng, 0, 3)...), node)
		two := onNode(plainSlice("gpu-0-"+node, explainGPU, node, gpus(rng, 3, 3)...), node)
		all = append(all, ofPool(one, two)...)
		all = append(all, onNode(plainSlice("nic-"+node, explainNIC, node, nics(rng, 4)...), node))
		if hasAllOf1_37() {
			all = append(all, onNode(plainSlice("share-"+node, explainShare, node, shared(rng, 2)...), node))
			all = append(all, divided(rng, node)...)
		}
	}
	return all
}

// gpus have attributes of all kinds, of which some lack one.
func gpus(rng *rand.Rand, from, count int) []resourcev1.Device {
	var devices []resourcev1.Device
	for i := from; i < from+count; i++ {
		device := resourcev1.Device{Name: fmt.Sprintf("d-%d", i),
			Attributes: attributes{
				"model": ofString(pick(rng, "small", "large")), "index": ofInt(i),
				"ecc": {BoolValue: pointer(rng.IntN(2) == 0)},
				"driverVersion": {VersionValue: pointer(
					pick(rng, "1.2.3", "2.0.0-rc.1", "2.1.0"))},
				"resource.kubernetes.io/pcieRoot": ofString(pick(rng, "root-0", "root-1", "root-2")),
				"vendor.example.com/numa":         ofInt(rng.IntN(2))},
			Capacity: capacities{"memory": ofAmount(pick(rng, "40Gi", "80Gi")),
				"cores": ofAmount(pick(rng, "64", "108", "0.5k"))}}
		if rng.IntN(5) == 0 {
			delete(device.Attributes, "vendor.example.com/numa")
		}
		if hasAllOf1_37() && rng.IntN(4) == 0 {
			device.Taints = []resourcev1.DeviceTaint{{Key: explainTaint, Value: "slice",
				Effect: pick(rng, resourcev1.DeviceTaintEffectNoSchedule,
					resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone)}}
		}
		devices = append(devices, device)
	}
	return devices
}

func nics(rng *rand.Rand, count int) []resourcev1.Device {
	var devices []resourcev1.Device
	for i := range count {
		devices = append(devices, resourcev1.Device{Name: fmt.Sprintf("d-%d", i),
			Attributes: attributes{"speed": ofInt(pick(rng, 100, 400)),
				"resource.kubernetes.io/pcieRoot": ofString(pick(rng, "root-0", "root-1", "root-2")),
				"vendor.example.com/numa":         ofInt(rng.IntN(2))}})
	}
	return devices
}

// fabricSlices: for all nodes, for those that a selector chooses, and a pool in which each device
// chooses for itself.
func fabricSlices(rng *rand.Rand) []*resourcev1.ResourceSlice {
	everywhere := plainSlice("fabric-all", explainFabric, "everywhere", nics(rng, 2)...)
	everywhere.Spec.AllNodes = pointer(true)
	zone := plainSlice("fabric-zone", explainFabric, "zone", nics(rng, 2)...)
	zone.Spec.NodeSelector = inZone("a")
	all := []*resourcev1.ResourceSlice{everywhere, zone}
	if hasAllOf1_37() {
		devices := nics(rng, 4)
		devices[0].NodeName = &explainNodes[0]
		devices[1].NodeName = &explainNodes[1]
		devices[2].NodeSelector = inZone("b")
		devices[3].AllNodes = pointer(true)
		each := plainSlice("fabric-each", explainFabric, "each", devices...)
		each.Spec.PerDeviceNodeSelection = pointer(true)
		all = append(all, each)
	}
	return all
}

// brokenSlices: a pool of which a slice is missing, one with a name twice, and one that has an
// older generation left.
func brokenSlices(rng *rand.Rand) []*resourcev1.ResourceSlice {
	half := onNode(plainSlice("half", explainNIC, "half", nics(rng, 2)...), explainNodes[0])
	half.Spec.Pool.ResourceSliceCount = 2
	twice := ofPool(
		onNode(plainSlice("twice-0", explainNIC, "twice", nics(rng, 1)...), explainNodes[1]),
		onNode(plainSlice("twice-1", explainNIC, "twice", nics(rng, 2)...), explainNodes[1]))
	old := onNode(plainSlice("old", explainNIC, "renewed", nics(rng, 3)...), explainNodes[1])
	young := onNode(plainSlice("young", explainNIC, "renewed", nics(rng, 1)...), explainNodes[1])
	young.Spec.Pool.Generation = 2
	all := []*resourcev1.ResourceSlice{old, young}
	// Requests for all devices fail on them, and so does what fits nowhere: not in every run.
	if draw := rng.IntN(4); draw == 0 {
		all = append(all, half)
	} else if draw == 1 && hasAllOf1_37() {
		// On 1.34 an error, if the search comes there before it ends.
		all = append(all, twice...)
	}
	return all
}

// shared devices are given to many claims, each with a part that a policy rounds.
func shared(rng *rand.Rand, count int) []resourcev1.Device {
	quantity := func(text string) *resource.Quantity { return pointer(resource.MustParse(text)) }
	var devices []resourcev1.Device
	for i := range count {
		memory, slots := ofAmount("40Gi"), ofAmount("8")
		memory.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity("5Gi"),
			ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: quantity("2Gi"),
				Max: quantity("20Gi"), Step: quantity("1Gi")}}
		slots.RequestPolicy = &resourcev1.CapacityRequestPolicy{Default: quantity("1"),
			ValidValues: []resource.Quantity{*quantity("1"), *quantity("2"), *quantity("4")}}
		devices = append(devices, resourcev1.Device{Name: fmt.Sprintf("d-%d", i),
			AllowMultipleAllocations: pointer(true),
			Attributes: attributes{"model": ofString(pick(rng, "small", "large")),
				"resource.kubernetes.io/pcieRoot": ofString(pick(rng, "root-0", "root-1"))},
			Capacity: capacities{"memory": memory, "slots": slots, "bandwidth": ofAmount("100")}})
	}
	return append(devices, resourcev1.Device{Name: fmt.Sprintf("d-%d", count),
		Attributes: attributes{"model": ofString("whole")},
		Capacity:   capacities{"memory": ofAmount("16Gi")}})
}

// divided is a device in partitions that overlap: the whole, halves and quarters.
func divided(rng *rand.Rand, node string) []*resourcev1.ResourceSlice {
	counters := func(memory, engines int) map[string]resourcev1.Counter {
		return map[string]resourcev1.Counter{
			"memory":  {Value: resource.MustParse(fmt.Sprintf("%dGi", memory))},
			"engines": {Value: resource.MustParse(fmt.Sprint(engines))}}
	}
	sets := onNode(plainSlice("mig-sets-"+node, explainMIG, node), node)
	sets.Spec.SharedCounters = []resourcev1.CounterSet{
		{Name: "set-0", Counters: counters(40, 7)}, {Name: "set-1", Counters: counters(40, 7)}}
	var devices []resourcev1.Device
	for i, part := range []int{4, 2, 2, 1, 1, 1, 1} {
		for set := range 2 {
			devices = append(devices, resourcev1.Device{Name: fmt.Sprintf("d-%d", 2*i+set),
				Attributes: attributes{"part": ofInt(part), "parent": ofInt(set)},
				Capacity:   capacities{"memory": ofAmount(fmt.Sprintf("%dGi", 10*part))},
				ConsumesCounters: []resourcev1.DeviceCounterConsumption{{
					CounterSet: fmt.Sprintf("set-%d", set), Counters: counters(10*part, 2*part-part/4)}}})
		}
	}
	rng.Shuffle(len(devices), func(a, b int) { devices[a], devices[b] = devices[b], devices[a] })
	return ofPool(sets, onNode(plainSlice("mig-parts-"+node, explainMIG, node, devices...), node))
}
