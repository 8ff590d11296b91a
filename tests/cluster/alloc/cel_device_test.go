package alloc

import (
	"math/rand"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

var (
	celDomains = []string{"d.io", "other.io"}
	celIds     = []string{"i", "b", "s", "v", "is", "ss", "bs", "vs"}
	celStrings = []string{"", "a", "gpu", "A100-80GB", "käse", "1.2.3", "10Gi", "a,b,c", "true",
		" x "}
	celQuantities = []string{"0", "1", "100m", "0.1", "1Gi", "1024Mi", "10Gi", "1e3", "2k", "-5",
		"1500m", "3Ki"}
	celVersions = []string{"1.2.3", "1.2.3-rc.1", "1.2.3-rc.1+build", "2.0.0", "10.0.0", "1.2.4"}
)

func pick[T any](random *rand.Rand, from []T) T { return from[random.Intn(len(from))] }

// randomDevice has each of a few attributes and capacities with some probability.
func randomDevice(random *rand.Rand) celDevice {
	device := celDevice{
		Driver:     pick(random, []string{"d.io", "other.io"}),
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity:   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{},
	}
	if random.Intn(2) == 0 {
		device.AllowMultipleAllocations = ptr.To(random.Intn(2) == 0)
	}
	for _, id := range celIds {
		if random.Intn(4) == 0 {
			continue
		}
		device.Attributes[randomName(random, id)] = randomAttribute(random, id)
	}
	for _, id := range []string{"mem", "cores"} {
		if random.Intn(5) == 0 {
			continue
		}
		device.Capacity[randomName(random, id)] =
			resourceapi.DeviceCapacity{Value: resource.MustParse(pick(random, celQuantities))}
	}
	return device
}

func randomName(random *rand.Rand, id string) resourceapi.QualifiedName {
	prefix := ""
	if random.Intn(2) == 0 {
		prefix = pick(random, celDomains) + "/"
	}
	return resourceapi.QualifiedName(prefix + id)
}

func randomList[T any](random *rand.Rand, one func() T) []T {
	list := []T{}
	for range 1 + random.Intn(3) {
		list = append(list, one())
	}
	return list
}

func randomAttribute(random *rand.Rand, id string) resourceapi.DeviceAttribute {
	number := func() int64 { return int64(random.Intn(7) - 2) }
	truth := func() bool { return random.Intn(2) == 0 }
	text := func() string { return pick(random, celStrings) }
	version := func() string { return pick(random, celVersions) }
	switch id {
	case "i":
		return resourceapi.DeviceAttribute{IntValue: ptr.To(number())}
	case "b":
		return resourceapi.DeviceAttribute{BoolValue: ptr.To(truth())}
	case "s":
		return resourceapi.DeviceAttribute{StringValue: ptr.To(text())}
	case "v":
		return resourceapi.DeviceAttribute{VersionValue: ptr.To(version())}
	case "is":
		return resourceapi.DeviceAttribute{IntValues: randomList(random, number)}
	case "bs":
		return resourceapi.DeviceAttribute{BoolValues: randomList(random, truth)}
	case "ss":
		return resourceapi.DeviceAttribute{StringValues: randomList(random, text)}
	default:
		return resourceapi.DeviceAttribute{VersionValues: randomList(random, version)}
	}
}
