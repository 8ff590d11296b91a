package galentable

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	api "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/dynamic-resource-allocation/structured/internal"
)

// VerdictOf names upstream's answer as Galen names its own.
func VerdictOf(results []api.AllocationResult, claims int, err error) string {
	switch {
	case errors.Is(err, internal.ErrFailedAllocationOnNode):
		return "node error"
	case err != nil:
		return "error"
	case results == nil && claims > 0:
		return "no fit"
	default:
		return "fits"
	}
}

// Difference says in what Galen's answer differs from upstream's; "": in nothing. Quantities are
// compared by value, ids of shares by whether there are any.
func Difference(ours *Answer, verdict string, theirs []api.AllocationResult) string {
	if ours.Verdict != verdict {
		return fmt.Sprintf("verdict: ours %q (%s), theirs %q", ours.Verdict, ours.Message, verdict)
	}
	if verdict != "fits" {
		return ""
	}
	if len(ours.Results) != len(theirs) {
		return fmt.Sprintf("claims: ours %d, theirs %d", len(ours.Results), len(theirs))
	}
	for i := range theirs {
		if difference := differenceOf(&ours.Results[i], &theirs[i]); difference != "" {
			return fmt.Sprintf("claim %d: %s", i, difference)
		}
	}
	return ""
}

func differenceOf(ours, theirs *api.AllocationResult) string {
	two := func(part string, ours, theirs any) string {
		return fmt.Sprintf("%s: ours %s, theirs %s", part, text(ours), text(theirs))
	}
	if len(ours.Devices.Results) != len(theirs.Devices.Results) {
		return two("devices", ours.Devices.Results, theirs.Devices.Results)
	}
	for i := range theirs.Devices.Results {
		if !sameDevice(ours.Devices.Results[i], theirs.Devices.Results[i]) {
			return two("device", ours.Devices.Results[i], theirs.Devices.Results[i])
		}
	}
	if text(ours.Devices.Config) != text(theirs.Devices.Config) {
		return two("config", ours.Devices.Config, theirs.Devices.Config)
	}
	if text(ours.NodeSelector) != text(theirs.NodeSelector) {
		return two("node selector", ours.NodeSelector, theirs.NodeSelector)
	}
	return ""
}

func sameDevice(ours, theirs api.DeviceRequestAllocationResult) bool {
	if (ours.ShareID == nil) != (theirs.ShareID == nil) ||
		len(ours.ConsumedCapacity) != len(theirs.ConsumedCapacity) {
		return false
	}
	for name, amount := range theirs.ConsumedCapacity {
		other, found := ours.ConsumedCapacity[name]
		if !found || amount.Cmp(other) != 0 {
			return false
		}
	}
	ours.ShareID, theirs.ShareID = nil, nil
	ours.ConsumedCapacity, theirs.ConsumedCapacity = nil, nil
	return text(ours) == text(theirs) || reflect.DeepEqual(ours, theirs)
}

// Survives says whether a question reads the same as it was: upstream prints some quantities from
// 10^18 on as other ones.
func Survives(question *Question, line []byte) bool {
	read := &Question{}
	if json.Unmarshal(line, read) != nil {
		return false
	}
	return equality.Semantic.DeepEqual(read.Slices, question.Slices) &&
		equality.Semantic.DeepEqual(read.Claims, question.Claims)
}

func text(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}
