package galentable

import (
	"context"
	"reflect"
	"testing"

	v1 "k8s.io/api/core/v1"
	api "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/internal"
	"k8s.io/dynamic-resource-allocation/structured/internal/allocatortesting"
	"k8s.io/dynamic-resource-allocation/structured/internal/experimental"
	"k8s.io/dynamic-resource-allocation/structured/internal/incubating"
)

// tally counts what was asked and where the answers differ.
type tally struct {
	asked, unsaid, unsupported, differ, cannotTell, moreCalls int
	fits, noFit, errors                                       int
}

// bridge answers with upstream's allocator, and asks Galen the same.
type bridge struct {
	internal.Allocator
	t        *testing.T
	peer     *Peer
	tally    *tally
	question Question
}

func (b *bridge) Allocate(ctx context.Context, node *v1.Node, claims []*api.ResourceClaim,
) ([]api.AllocationResult, error) {
	results, err := b.Allocator.Allocate(ctx, node, claims)
	if ctx.Err() != nil {
		return results, err // upstream was interrupted: there is nothing to compare
	}
	b.question.Node, b.question.Claims = node, claims
	var calls int64
	if extended, ok := b.Allocator.(internal.AllocatorExtended); ok {
		calls = extended.GetStats().NumAllocateOneInvocations
	}
	b.tally.compare(b.t, b.peer, &b.question, results, err, calls)
	return results, err
}

func (b *bridge) GetStats() internal.Stats {
	return b.Allocator.(internal.AllocatorExtended).GetStats()
}

// compare asks Galen and notes the difference, if there is one.
func (c *tally) compare(t *testing.T, peer *Peer, question *Question,
	results []api.AllocationResult, err error, calls int64) {
	answer, line, failure := peer.Ask(question)
	if failure != nil {
		t.Fatalf("%v on %s", failure, line)
	}
	// Galen has no derived attributes: an alpha gate.
	if question.Options.Features["DerivedAttributes"] {
		c.unsupported++
		return
	}
	if !Survives(question, line) {
		c.unsaid++
		return
	}
	c.asked++
	verdict := VerdictOf(results, len(question.Claims), err)
	switch verdict {
	case "fits":
		c.fits++
	case "no fit":
		c.noFit++
	default:
		c.errors++
	}
	if answer.Verdict == "cannot tell" {
		c.cannotTell++
		return
	}
	if calls > 0 && answer.Calls > calls {
		c.moreCalls++
		t.Logf("%d calls, upstream %d", answer.Calls, calls)
	}
	if difference := Difference(answer, verdict, results); difference != "" {
		c.differ++
		t.Errorf("%s\nupstream's error: %v\nasked: %s", difference, err, line)
	}
}

// features by the name of their field.
func featuresOf(features internal.Features) map[string]bool {
	names := map[string]bool{}
	value := reflect.ValueOf(features)
	for i := range value.NumField() {
		names[value.Type().Field(i).Name] = value.Field(i).Bool()
	}
	return names
}

type maker = func(context.Context, internal.Features, internal.AllocatedState,
	internal.DeviceClassLister, []*api.ResourceSlice, *cel.Cache) (internal.Allocator, error)

// bridged makes upstream's allocators with a bridge before them.
func bridged(t *testing.T, peer *Peer, counts *tally, name string, make maker) maker {
	return func(ctx context.Context, features internal.Features, state internal.AllocatedState,
		classes internal.DeviceClassLister, slices []*api.ResourceSlice, cache *cel.Cache,
	) (internal.Allocator, error) {
		allocator, err := make(ctx, features, state, classes, slices, cache)
		if err != nil {
			return nil, err
		}
		known, err := classes.List()
		if err != nil {
			return nil, err
		}
		return &bridge{Allocator: allocator, t: t, peer: peer, tally: counts, question: Question{
			Options: Options{Minor: 37, Variant: name, Features: featuresOf(features)},
			Held:    HeldOf(state), Classes: known, Slices: slices,
		}}, nil
	}
}

func makeIncubating(ctx context.Context, features internal.Features, state internal.AllocatedState,
	classes internal.DeviceClassLister, slices []*api.ResourceSlice, cache *cel.Cache,
) (internal.Allocator, error) {
	return incubating.NewAllocator(ctx, features, state, classes, slices, cache)
}

func makeExperimental(ctx context.Context, features internal.Features,
	state internal.AllocatedState, classes internal.DeviceClassLister,
	slices []*api.ResourceSlice, cache *cel.Cache,
) (internal.Allocator, error) {
	return experimental.NewAllocator(ctx, features, state, classes, slices, cache)
}

func startPeer(t *testing.T) *Peer {
	peer, err := StartPeer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := peer.Stop(); err != nil {
			t.Error(err)
		}
	})
	return peer
}

func report(t *testing.T, name string, counts *tally) {
	t.Logf("%s: asked %d (fits %d, no fit %d, errors %d)", name, counts.asked, counts.fits,
		counts.noFit, counts.errors)
	t.Logf("%s: unsupported %d, not to be written %d, differ %d, cannot tell %d, more calls %d",
		name, counts.unsupported, counts.unsaid, counts.differ, counts.cannotTell, counts.moreCalls)
	if counts.asked == 0 {
		t.Error("nothing was asked")
	}
}

func TestUpstreamsTable(t *testing.T) {
	peer := startPeer(t)
	for _, variant := range []struct {
		name      string
		supported internal.Features
		make      maker
	}{
		{"incubating", incubating.SupportedFeatures, makeIncubating},
		{"experimental", experimental.SupportedFeatures, makeExperimental},
	} {
		counts := &tally{}
		t.Run(variant.name, func(t *testing.T) {
			make := bridged(t, peer, counts, variant.name, variant.make)
			allocatortesting.TestAllocator(t, variant.supported, make)
			allocatortesting.TestLexicographicalAllocator(t, variant.supported, make)
		})
		report(t, variant.name, counts)
	}
}
