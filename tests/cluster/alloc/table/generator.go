package galentable

import (
	"fmt"
	"math/rand"

	v1 "k8s.io/api/core/v1"
	api "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured/schedulerapi"
)

// Cluster is a small one, drawn from a seed: everything that an allocator looks at comes up in it,
// the broken and the rare more often than in life.
type Cluster struct {
	random  *rand.Rand
	Slices  []*api.ResourceSlice
	Classes []*api.DeviceClass
	Claims  []*api.ResourceClaim
	State   schedulerapi.AllocatedState
	Node    *v1.Node
	// More of few kinds of devices and no errors, so that searches are long.
	dense bool
}

// NewCluster draws a cluster.
func NewCluster(seed int64) *Cluster {
	c := &Cluster{random: rand.New(rand.NewSource(seed))}
	c.dense = c.chance(60)
	c.Node = &v1.Node{}
	c.Node.Name, c.Node.Labels = "node-1", map[string]string{"zone": "a", "gpus": "8"}
	c.State = schedulerapi.AllocatedState{
		AllocatedDevices:         sets.New[schedulerapi.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[schedulerapi.SharedDeviceID](),
		AggregatedCapacity:       schedulerapi.NewConsumedCapacityCollection(),
	}
	for i := range 1 + c.below(3) {
		c.addPool(fmt.Sprintf("driver-%d", c.below(2)), fmt.Sprintf("pool-%d", i))
	}
	c.random.Shuffle(len(c.Slices), func(i, j int) {
		c.Slices[i], c.Slices[j] = c.Slices[j], c.Slices[i]
	})
	c.addClasses()
	for i := range pick(c, 1, 1, 2, 3) {
		c.addClaim(fmt.Sprintf("claim-%d", i))
	}
	return c
}

func (c *Cluster) below(n int) int         { return c.random.Intn(n) }
func (c *Cluster) chance(percent int) bool { return c.random.Intn(100) < percent }

func pick[T any](c *Cluster, values ...T) T { return values[c.below(len(values))] }

func (c *Cluster) quantity(values ...string) resource.Quantity {
	return resource.MustParse(pick(c, values...))
}

func (c *Cluster) addPool(driver, pool string) {
	count := 1 + c.below(3)
	counters := c.chance(30)
	if counters {
		count++
	}
	declared := int64(count)
	if c.chance(5) {
		declared += int64(pick(c, -1, 1))
	}
	scope := c.below(10)
	for i := range count {
		slice := &api.ResourceSlice{}
		slice.Name = fmt.Sprintf("%s-%s-%d", driver, pool, 9-i)
		slice.Spec.Driver = driver
		slice.Spec.Pool = api.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: declared}
		if c.chance(4) {
			slice.Spec.Pool.Generation = 2
		}
		c.setScope(slice, scope)
		if counters && i == 0 {
			for set := range 1 + c.below(2) {
				slice.Spec.SharedCounters = append(slice.Spec.SharedCounters, c.counterSet(set))
			}
		} else {
			c.addDevices(slice, i, counters)
		}
		c.Slices = append(c.Slices, slice)
	}
}

func (c *Cluster) counterSet(set int) api.CounterSet {
	return api.CounterSet{Name: fmt.Sprintf("set-%d", set), Counters: map[string]api.Counter{
		"memory": {Value: c.quantity("4", "8", "8")},
		"slots":  {Value: c.quantity("2", "4", "500m")},
	}}
}

// setScope ties slices of a pool to nodes alike, mostly.
func (c *Cluster) setScope(slice *api.ResourceSlice, scope int) {
	yes := true
	if c.chance(8) {
		scope = c.below(10)
	}
	switch {
	case scope < 5:
		name := "node-1"
		if c.chance(6) {
			name = "node-2"
		}
		slice.Spec.NodeName = &name
	case scope == 5:
		slice.Spec.AllNodes = &yes
	case scope < 8:
		slice.Spec.NodeSelector = c.nodeSelector()
	case scope == 8:
		slice.Spec.PerDeviceNodeSelection = &yes
	case c.chance(30): // nothing that is known
	default:
		name := "node-1"
		slice.Spec.NodeName = &name
	}
}

func (c *Cluster) nodeSelector() *v1.NodeSelector {
	require := func(key string, operator v1.NodeSelectorOperator, values ...string,
	) v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	requirement := pick(c,
		require("zone", v1.NodeSelectorOpIn, "b", "a"),
		require("zone", v1.NodeSelectorOpIn, "a", "b"),
		require("zone", v1.NodeSelectorOpExists),
		require("gpus", v1.NodeSelectorOpGt, "4"),
		require("zone", v1.NodeSelectorOpNotIn, "a"),
		require("none", v1.NodeSelectorOpDoesNotExist),
	)
	if c.chance(1) {
		requirement.Operator = "Odd"
	}
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{requirement}}
	if c.chance(20) {
		term.MatchFields = []v1.NodeSelectorRequirement{
			require("metadata.name", v1.NodeSelectorOpIn, "node-1")}
	}
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{term}}
}

func (c *Cluster) addDevices(slice *api.ResourceSlice, index int, counters bool) {
	for i := range 1 + c.below(5) {
		name := fmt.Sprintf("dev-%d-%d", index, i)
		if c.chance(1) {
			name = "dev-1-0"
		}
		device := api.Device{Name: name}
		c.setAttributes(&device, slice.Spec.Driver)
		c.setCapacity(&device)
		if counters && c.chance(70) {
			c.setConsumption(&device)
		}
		c.setRest(&device, slice)
		slice.Spec.Devices = append(slice.Spec.Devices, device)
		c.hold(slice, &device)
	}
}

func (c *Cluster) setAttributes(device *api.Device, driver string) {
	device.Attributes = map[api.QualifiedName]api.DeviceAttribute{}
	set := func(name string, percent int, attribute api.DeviceAttribute) {
		if c.chance(percent) {
			if c.chance(20) {
				name = driver + "/" + name
			}
			device.Attributes[api.QualifiedName(name)] = attribute
		}
	}
	good, numa, kind := c.chance(85), int64(c.below(2)), pick(c, "big", "small")
	version, most := pick(c, "1.0.0", "1.0.0+x", "2.0.0"), 97
	if c.dense {
		good, most = true, 100
	}
	set("good", most, api.DeviceAttribute{BoolValue: &good})
	set("numa", 95, api.DeviceAttribute{IntValue: &numa})
	set("kind", most, api.DeviceAttribute{StringValue: &kind})
	set("version", 90, api.DeviceAttribute{VersionValue: &version})
	// Which of two names of one attribute a selector sees is chance in upstream.
	if _, full := device.Attributes[api.QualifiedName(driver+"/numa")]; !full && c.chance(10) {
		device.Attributes["numa"] = api.DeviceAttribute{StringValue: &kind}
	}
	if !c.dense && c.chance(1) {
		device.Attributes["odd"] = api.DeviceAttribute{}
	}
}

func (c *Cluster) setCapacity(device *api.Device) {
	if c.chance(40) {
		return
	}
	capacity := api.DeviceCapacity{Value: c.quantity("4", "8", "8", "10", "1500m")}
	switch c.below(6) {
	case 0:
		capacity.RequestPolicy = &api.CapacityRequestPolicy{ValidRange: c.validRange()}
	case 1:
		capacity.RequestPolicy = &api.CapacityRequestPolicy{ValidValues: []resource.Quantity{
			resource.MustParse("1"), resource.MustParse("2"), resource.MustParse("4")}}
	}
	if capacity.RequestPolicy != nil && c.chance(70) {
		otherwise := c.quantity("2", "4", "1")
		capacity.RequestPolicy.Default = &otherwise
	}
	device.Capacity = map[api.QualifiedName]api.DeviceCapacity{"memory": capacity}
	if c.chance(20) {
		device.Capacity["driver-0/cores"] = api.DeviceCapacity{Value: c.quantity("2", "100")}
	}
	if c.chance(40) {
		yes := true
		device.AllowMultipleAllocations = &yes
	}
}

func (c *Cluster) validRange() *api.CapacityRequestPolicyRange {
	from := c.quantity("1", "2", "500m")
	bounds := &api.CapacityRequestPolicyRange{Min: &from}
	if c.chance(60) {
		to := c.quantity("4", "8", "1500m")
		bounds.Max = &to
	}
	if c.chance(60) {
		step := c.quantity("1", "2", "250m", "3")
		bounds.Step = &step
	}
	return bounds
}

func (c *Cluster) setConsumption(device *api.Device) {
	for set := range 1 + c.below(2) {
		if set > 0 && c.chance(80) {
			continue
		}
		consumption := api.DeviceCounterConsumption{
			CounterSet: fmt.Sprintf("set-%d", pick(c, 0, 0, 1)),
			Counters:   map[string]api.Counter{"memory": {Value: c.quantity("1", "2", "4", "8")}},
		}
		if c.chance(30) {
			consumption.Counters["slots"] = api.Counter{Value: c.quantity("1", "250m")}
		}
		if c.chance(1) {
			consumption.CounterSet = "set-9"
		}
		device.ConsumesCounters = append(device.ConsumesCounters, consumption)
	}
}

func (c *Cluster) setRest(device *api.Device, slice *api.ResourceSlice) {
	yes := true
	if c.chance(12) {
		device.Taints = append(device.Taints, api.DeviceTaint{
			Key:   pick(c, "sick", "old"),
			Value: pick(c, "", "very"),
			Effect: pick(c, api.DeviceTaintEffectNoSchedule, api.DeviceTaintEffectNoExecute,
				api.DeviceTaintEffectNone),
		})
	}
	if c.chance(5) {
		device.BindingConditions = []string{"Ready"}
		device.BindingFailureConditions = []string{"Failed"}
	}
	if c.chance(5) {
		device.BindsToNode = &yes
	}
	if slice.Spec.PerDeviceNodeSelection == nil {
		return
	}
	switch c.below(4) {
	case 0:
		device.AllNodes = &yes
	case 1:
		device.NodeSelector = c.nodeSelector()
	default:
		name := pick(c, "node-1", "node-1", "node-2")
		device.NodeName = &name
	}
}

// hold lets others have some devices.
func (c *Cluster) hold(slice *api.ResourceSlice, device *api.Device) {
	id := schedulerapi.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
	if device.AllowMultipleAllocations == nil {
		if c.chance(15) {
			c.State.AllocatedDevices.Insert(id)
		}
		return
	}
	if c.chance(70) {
		return
	}
	share := types.UID("share")
	c.State.AllocatedSharedDeviceIDs.Insert(schedulerapi.MakeSharedDeviceID(id, &share))
	if c.chance(80) {
		amounts := map[api.QualifiedName]resource.Quantity{"memory": c.quantity("1", "2", "4")}
		c.State.AggregatedCapacity.Insert(schedulerapi.NewDeviceConsumedCapacity(id, amounts))
	}
}
