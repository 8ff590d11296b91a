package alloc

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Device selectors: the same expressions on the same devices, by Kubernetes' own package and by
// alloc-peer.

var (
	celSeed  = flag.Int64("cel.seed", 1, "where the random expressions begin")
	celCount = flag.Int("cel.count", 20000, "how many random expressions")
	celCosts = flag.Bool("cel.costs", false, "also list expressions whose costs differ")
)

type (
	celAttributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
	celCapacity   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity
)

// celDevice is a device as both sides read it.
type celDevice struct {
	Driver                   string        `json:"driver"`
	AllowMultipleAllocations *bool         `json:"allowMultipleAllocations,omitempty"`
	Attributes               celAttributes `json:"attributes,omitempty"`
	Capacity                 celCapacity   `json:"capacity,omitempty"`
}

type celQuestion struct {
	Expr   string    `json:"expr"`
	Device celDevice `json:"device"`
	Minor  int       `json:"minor"`
}

type celAnswer struct {
	// true, false, compile, unsupported or run
	Outcome string `json:"outcome"`
	Error   string `json:"error"`
	Cost    uint64 `json:"cost"`
}

func celOriginal(expr string, device celDevice) (answer celAnswer) {
	defer func() {
		if failure := recover(); failure != nil {
			answer = celAnswer{Outcome: "run", Error: fmt.Sprintf("internal error: %v", failure)}
		}
	}()
	compiled := cel.GetCompiler(cel.Features{}).CompileCELExpression(expr,
		cel.Options{DisableCostEstimation: true})
	if compiled.Error != nil {
		return celAnswer{Outcome: "compile", Error: compiled.Error.Error()}
	}
	matches, details, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   device.Driver,
		AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes:               device.Attributes,
		Capacity:                 device.Capacity,
	})
	if err != nil {
		return celAnswer{Outcome: "run", Error: err.Error()}
	}
	answer = celAnswer{Outcome: fmt.Sprint(matches)}
	if details != nil && details.ActualCost() != nil {
		answer.Cost = *details.ActualCost()
	}
	return answer
}

// celKnownDifferences are those of docs/cel.md that random expressions come upon, by a part of
// either side's error.
var celKnownDifferences = []string{
	"unsupported key type", // ours: keys of maps that are neither numbers nor strings nor bools
	"elements cannot be compared",
	// ours: lists and maps with quantities or versions beside other kinds
	"unknown time zone",           // ours
	"reference to undefined type", // upstream's: a macro's variable for a type
	"internal error: ",            // upstream's: it panics
}

// celDiffers says how the two answers differ, and "" where they agree or where the difference is
// known.
func celDiffers(expr string, ours, original celAnswer) string {
	if ours.Outcome == original.Outcome || ours.Outcome == "unsupported" {
		return ""
	}
	for _, known := range celKnownDifferences {
		if strings.Contains(ours.Error, known) || strings.Contains(original.Error, known) {
			return ""
		}
	}
	// The sum of quantities is no quantity on the right of == upstream.
	sums := strings.Contains(expr, ".add(") || strings.Contains(expr, ".sub(")
	if sums && strings.Contains(original.Error, "no such overload") {
		return ""
	}
	// A list of versions equals every list of its size upstream.
	if ours.Outcome == "true" && original.Outcome == "false" && strings.Contains(expr, "!=") &&
		strings.Contains(expr, "vs") {
		return ""
	}
	return fmt.Sprintf("ours %s (%s), original %s (%s)", ours.Outcome, ours.Error,
		original.Outcome, original.Error)
}

func TestCelIsTheOriginals(t *testing.T) {
	peer := startPeer(t, "cel")
	counts := map[string]int{}
	costs := 0
	for i := range *celCount {
		seed := *celSeed + int64(i)
		random := rand.New(rand.NewSource(seed))
		device := randomDevice(random)
		expr := (&celGenerator{random}).selector()
		var ours celAnswer
		peer.ask(celQuestion{Expr: expr, Device: device, Minor: 37}, &ours)
		original := celOriginal(expr, device)
		counts[original.Outcome]++
		if difference := celDiffers(expr, ours, original); difference != "" {
			t.Errorf("seed %d: %s\n  %s\n  device %+v", seed, expr, difference, device)
		} else if ours.Outcome != "compile" && ours.Outcome != "run" && ours.Cost != original.Cost {
			costs++
			if *celCosts {
				t.Logf("seed %d: %s\n  costs %d, the original %d", seed, expr, ours.Cost, original.Cost)
			}
		}
	}
	t.Logf("seeds %d to %d: %v; %d of another cost", *celSeed, *celSeed+int64(*celCount)-1, counts,
		costs)
}
