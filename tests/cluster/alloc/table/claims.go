package galentable

import (
	"fmt"

	api "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func selectors(expressions ...string) []api.DeviceSelector {
	var all []api.DeviceSelector
	for _, expression := range expressions {
		cel := &api.CELDeviceSelector{Expression: expression}
		all = append(all, api.DeviceSelector{CEL: cel})
	}
	return all
}

func (c *Cluster) addClasses() {
	add := func(name string, configured bool, expressions ...string) {
		class := &api.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		class.Spec.Selectors = selectors(expressions...)
		if configured {
			class.Spec.Config = []api.DeviceClassConfiguration{
				{DeviceConfiguration: configuration("of-" + name)}}
		}
		c.Classes = append(c.Classes, class)
	}
	add("any", c.chance(30))
	add("gpu", c.chance(50), `device.driver == "driver-0"`)
	add("good", c.chance(30), `device.driver == "driver-0"`, `device.attributes["driver-0"].good`)
	add("guarded", false, `device.attributes[device.driver].?good.orValue(false)`)
}

func configuration(parameters string) api.DeviceConfiguration {
	raw := runtime.RawExtension{Raw: []byte(`{"name":"` + parameters + `"}`)}
	return api.DeviceConfiguration{Opaque: &api.OpaqueDeviceConfiguration{
		Driver: "driver-0", Parameters: raw}}
}

func (c *Cluster) addClaim(name string) {
	claim := &api.ResourceClaim{}
	claim.Name, claim.Namespace = name, "default"
	devices := &claim.Spec.Devices
	var names []string
	for i := range pick(c, 1, 1, 2, 3) {
		request := api.DeviceRequest{Name: fmt.Sprintf("r%d", i)}
		names = append(names, request.Name)
		if c.chance(25) {
			for alternative := range 1 + c.below(3) {
				sub := c.exactly()
				request.FirstAvailable = append(request.FirstAvailable, api.DeviceSubRequest{
					Name: fmt.Sprintf("s%d", alternative), DeviceClassName: sub.DeviceClassName,
					Selectors: sub.Selectors, AllocationMode: sub.AllocationMode, Count: sub.Count,
					Tolerations: sub.Tolerations, Capacity: sub.Capacity})
				names = append(names, fmt.Sprintf("r%d/s%d", i, alternative))
			}
		} else {
			request.Exactly = c.exactly()
			if c.chance(8) {
				yes := c.chance(80)
				request.Exactly.AdminAccess = &yes
			}
		}
		devices.Requests = append(devices.Requests, request)
	}
	if c.chance(45) {
		devices.Constraints = append(devices.Constraints, c.constraint(names))
	}
	if c.chance(10) {
		devices.Constraints = append(devices.Constraints, c.constraint(names))
	}
	if c.chance(20) {
		devices.Config = append(devices.Config, api.DeviceClaimConfiguration{
			Requests: c.some(names), DeviceConfiguration: configuration("of-" + name)})
	}
	c.Claims = append(c.Claims, claim)
}

// some are a few of the names, or none.
func (c *Cluster) some(names []string) []string {
	if c.chance(50) {
		return nil
	}
	var chosen []string
	for range 1 + c.below(2) {
		chosen = append(chosen, pick(c, names...))
	}
	return chosen
}

func (c *Cluster) exactly() *api.ExactDeviceRequest {
	request := &api.ExactDeviceRequest{
		DeviceClassName: pick(c, "any", "gpu", "gpu", "good", "guarded", "guarded"),
		AllocationMode:  api.DeviceAllocationModeExactCount,
		Count:           int64(pick(c, 1, 1, 1, 2, 2, 3, 4)),
	}
	if c.chance(12) {
		request.AllocationMode, request.Count = api.DeviceAllocationModeAll, 0
	}
	if !c.dense && c.chance(2) {
		request.Count = 33
	}
	if c.chance(35) {
		request.Selectors = selectors(c.expression())
	}
	if !c.dense && c.chance(1) {
		request.Selectors = append(request.Selectors, selectors(`nonsense`)...)
	}
	if c.chance(25) {
		request.Tolerations = []api.DeviceToleration{{
			Key:      pick(c, "sick", ""),
			Operator: pick(c, api.DeviceTolerationOpExists, api.DeviceTolerationOpEqual),
			Value:    pick(c, "", "very"),
			Effect:   pick(c, "", api.DeviceTaintEffectNoSchedule),
		}}
	}
	if c.chance(30) {
		request.Capacity = &api.CapacityRequirements{
			Requests: map[api.QualifiedName]resource.Quantity{
				"memory": c.quantity("1", "2", "3", "750m", "1500m", "5")}}
	}
	return request
}

func (c *Cluster) constraint(names []string) api.DeviceConstraint {
	attribute := api.FullyQualifiedName(pick(c, "driver-0/numa", "driver-0/numa", "driver-0/kind",
		"driver-0/version", "driver-1/numa", "driver-0/none"))
	constraint := api.DeviceConstraint{Requests: c.some(names)}
	if c.chance(75) {
		constraint.MatchAttribute = &attribute
	} else {
		constraint.DistinctAttribute = &attribute
	}
	return constraint
}

func (c *Cluster) expression() string {
	if !c.dense && c.chance(20) {
		return `device.attributes["driver-0"].kind == "big"`
	}
	return pick(c,
		`device.attributes[device.driver].?kind.orValue("") == "big"`,
		`device.attributes[device.driver].?numa.orValue(7) == 0`,
		`device.capacity[device.driver].?memory.hasValue() && `+
			`device.capacity[device.driver].memory.compareTo(quantity("5")) > 0`,
		`"version" in device.attributes[device.driver]`,
	)
}
