package stories

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the Pods of the story of explain_test.go want: drawn from all that a claim can say.

type explainAsk struct {
	pod    *corev1.Pod
	claims []*resourcev1.ResourceClaim // its own, in the order of the Pod
	gated  bool                        // asked about when it is there, not by its manifest
	shares string                      // the Pod that brought a claim which this one uses, too
}

// manifest is what a user would apply.
func (a explainAsk) manifest() string {
	var documents []string
	for _, claim := range a.claims {
		documents = append(documents, documentOf(claim))
	}
	return strings.Join(append(documents, documentOf(a.pod)), "\n---\n")
}

func documentOf(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// pinned is the same on that node only.
func (a explainAsk) pinned(node string) explainAsk {
	a.pod = a.pod.DeepCopy()
	a.pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name",
					Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}}
	return a
}

// ask draws a Pod with one to three claims; now and then it shares one that a Pod has already.
func (s *explainStory) ask(name string) explainAsk {
	ns := s.ns
	admin := s.rng.IntN(10) == 0
	if admin {
		ns = s.admin
	}
	ask := explainAsk{gated: s.rng.IntN(3) == 0, pod: &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "localhost/none"}}}}}
	for i := range pick(s.rng, 1, 1, 1, 1, 1, 2, 3) {
		claim := &resourcev1.ResourceClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", name, i), Namespace: ns},
			Spec:       resourcev1.ResourceClaimSpec{Devices: devicesWanted(s.rng, admin)}}
		ask.claims = append(ask.claims, claim)
		ask.use(claim.Name)
	}
	if len(s.living) > 0 && s.rng.IntN(10) == 0 {
		other := s.living[s.rng.IntN(len(s.living))]
		if other.pod.Namespace == ns {
			ask.shares = other.pod.Name
			ask.use(other.claims[0].Name)
		}
	}
	if s.rng.IntN(6) == 0 {
		ask.pod.Spec.NodeSelector = map[string]string{
			corev1.LabelTopologyZone: pick(s.rng, "a", "a", "b", "b", "b", "nowhere")}
	}
	return ask
}

func (a *explainAsk) use(claim string) {
	a.pod.Spec.ResourceClaims = append(a.pod.Spec.ResourceClaims,
		corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
	// Every claim is some container's.
	container := &a.pod.Spec.Containers[0]
	container.Resources.Claims = append(container.Resources.Claims, corev1.ResourceClaim{Name: claim})
}

func devicesWanted(rng *rand.Rand, admin bool) resourcev1.DeviceClaim {
	var wanted resourcev1.DeviceClaim
	for i := range pick(rng, 1, 1, 1, 1, 2, 3) {
		request := resourcev1.DeviceRequest{Name: fmt.Sprintf("r-%d", i)}
		if !admin && rng.IntN(4) == 0 {
			for n := range 1 + rng.IntN(3) {
				request.FirstAvailable = append(request.FirstAvailable, subRequestOf(
					fmt.Sprintf("s-%d", n), exactly(rng)))
			}
		} else {
			request.Exactly = exactly(rng)
			if admin && rng.IntN(3) > 0 {
				request.Exactly.AdminAccess = pointer(true)
			}
		}
		wanted.Requests = append(wanted.Requests, request)
	}
	for range pick(rng, 0, 0, 0, 0, 1, 1, 2) {
		wanted.Constraints = append(wanted.Constraints, constraintOn(rng, wanted.Requests))
	}
	return wanted
}

func subRequestOf(name string, e *resourcev1.ExactDeviceRequest) resourcev1.DeviceSubRequest {
	return resourcev1.DeviceSubRequest{Name: name, DeviceClassName: e.DeviceClassName,
		Selectors: e.Selectors, AllocationMode: e.AllocationMode, Count: e.Count,
		Tolerations: e.Tolerations, Capacity: e.Capacity}
}

// exactly is one request of a class that has selectors which suit it; few of them end the attempt
// with an error.
func exactly(rng *rand.Rand) *resourcev1.ExactDeviceRequest {
	classes := []string{"explain-gpu", "explain-gpu", "explain-gpu", "explain-large", "explain-nic",
		"explain-nic", "explain-fabric", "explain-any"}
	if hasAllOf1_37() {
		classes = append(classes, "explain-share", "explain-share", "explain-share", "explain-mig",
			"explain-mig")
	}
	if rng.IntN(40) == 0 {
		classes = []string{"explain-all", "explain-missing"}
		if hasAllOf1_37() {
			classes = append(classes, "explain-careless")
		}
	}
	request := &resourcev1.ExactDeviceRequest{DeviceClassName: pick(rng, classes...),
		AllocationMode: resourcev1.DeviceAllocationModeExactCount,
		Count:          pick[int64](rng, 1, 1, 1, 1, 1, 2, 3)}
	if rng.IntN(12) == 0 {
		request.AllocationMode, request.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	suits := explainSelectors[request.DeviceClassName]
	if hasAllOf1_37() && rng.IntN(12) == 0 {
		suits = explainCarelessSelectors[request.DeviceClassName]
	}
	if len(suits) > 0 && rng.IntN(3) > 0 {
		request.Selectors = append(request.Selectors, selectorOf(pick(rng, suits...)))
	}
	if !hasAllOf1_37() {
		return request
	}
	if rng.IntN(3) == 0 {
		request.Tolerations = []resourcev1.DeviceToleration{pick(rng,
			resourcev1.DeviceToleration{Operator: resourcev1.DeviceTolerationOpExists},
			resourcev1.DeviceToleration{Key: explainTaint, Operator: resourcev1.DeviceTolerationOpEqual,
				Value: "slice"},
			resourcev1.DeviceToleration{Key: explainTaint, Operator: resourcev1.DeviceTolerationOpExists,
				Effect: resourcev1.DeviceTaintEffectNoSchedule})}
	}
	if request.DeviceClassName == "explain-share" && rng.IntN(4) > 0 || rng.IntN(40) == 0 {
		request.Capacity = &resourcev1.CapacityRequirements{Requests: partWanted(rng)}
	}
	return request
}

func partWanted(rng *rand.Rand) map[resourcev1.QualifiedName]resource.Quantity {
	part := map[resourcev1.QualifiedName]resource.Quantity{}
	add := func(name resourcev1.QualifiedName, amounts ...string) {
		if rng.IntN(2) == 0 {
			part[name] = resource.MustParse(pick(rng, amounts...))
		}
	}
	add("memory", "1Gi", "3Gi", "7500Mi", "12Gi", "20Gi", "21Gi")
	add("slots", "1", "2", "3", "4", "5")
	add("bandwidth", "10", "33.5", "60", "100", "101")
	return part
}

var explainSelectors = map[string][]string{
	"explain-gpu": {
		`device.attributes["gpu.explain.example.com"].model == "large"`,
		`device.attributes["gpu.explain.example.com"].index % 2 == 0`,
		`device.attributes["gpu.explain.example.com"].ecc`,
		`device.attributes["gpu.explain.example.com"].driverVersion.isGreaterThan(semver("1.9.0"))`,
		`device.capacity["gpu.explain.example.com"].memory.compareTo(quantity("80Gi")) >= 0`,
		`device.capacity["gpu.explain.example.com"].cores.isLessThan(quantity("110"))`,
		`device.attributes["resource.kubernetes.io"].pcieRoot in ["root-0", "root-2"]`,
		`"vendor.example.com" in device.attributes && ` +
			`device.attributes["vendor.example.com"].numa == 0`,
		`device.attributes["gpu.explain.example.com"].model.matches("^sm") || ` +
			`device.attributes["gpu.explain.example.com"].index > 3`,
		`cel.bind(gpu, device.attributes["gpu.explain.example.com"], ` +
			`gpu.ecc ? gpu.index < 4 : gpu.index >= 2)`,
		`device.attributes["gpu.explain.example.com"].exists(name, name.startsWith("mod"))`,
	},
	"explain-nic": {
		`device.attributes["nic.explain.example.com"].speed >= 400`,
		`device.attributes["resource.kubernetes.io"].pcieRoot != "root-1"`,
	},
	"explain-fabric": {`device.attributes["fabric.explain.example.com"].speed == 100`},
	"explain-any": {`device.driver.startsWith("gpu") || device.driver.startsWith("nic")`,
		`"speed" in device.attributes[device.driver]`},
	"explain-share": {`device.allowMultipleAllocations`,
		`device.attributes["share.explain.example.com"].model in ["small", "whole"]`},
	"explain-mig": {`device.attributes["mig.explain.example.com"].part == 2`,
		`device.attributes["mig.explain.example.com"].part == 1`,
		`device.capacity["mig.explain.example.com"].memory.asInteger() >= 20 * 1024 * 1024 * 1024`},
}

// On a device that lacks the attribute these are errors, which end the whole attempt where the
// search comes to such a device. On 1.34 it comes to devices in an order that changes.
var explainCarelessSelectors = map[string][]string{
	"explain-gpu": {`device.attributes["vendor.example.com"].numa == 1`},
	"explain-any": {`device.attributes[device.driver].speed > 100`},
}

// constraintOn all requests or on some of them.
func constraintOn(rng *rand.Rand, requests []resourcev1.DeviceRequest) resourcev1.DeviceConstraint {
	attribute := resourcev1.FullyQualifiedName("resource.kubernetes.io/pcieRoot")
	if rng.IntN(3) == 0 { // what fewer devices have
		attribute = pick[resourcev1.FullyQualifiedName](rng, "vendor.example.com/numa",
			"gpu.explain.example.com/model", "mig.explain.example.com/parent")
	}
	constraint := resourcev1.DeviceConstraint{MatchAttribute: &attribute}
	if hasAllOf1_37() && rng.IntN(3) == 0 {
		constraint = resourcev1.DeviceConstraint{DistinctAttribute: &attribute}
	}
	for _, request := range requests {
		if rng.IntN(2) == 0 {
			continue
		}
		name := request.Name
		if len(request.FirstAvailable) > 0 && rng.IntN(2) == 0 {
			name += "/" + request.FirstAvailable[0].Name
		}
		constraint.Requests = append(constraint.Requests, name)
	}
	return constraint
}
