package galentable

import (
	"context"
	"errors"
	"os"
	"strconv"
	"testing"
	"time"

	api "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured/internal/incubating"
)

type classList []*api.DeviceClass

func (l classList) List() ([]*api.DeviceClass, error) { return l, nil }
func (l classList) Get(name string) (*api.DeviceClass, error) {
	for _, class := range l {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, errors.New("no class " + name)
}

// number reads one from the environment.
func number(name string, otherwise int64) int64 {
	value, err := strconv.ParseInt(os.Getenv(name), 10, 64)
	if err != nil {
		return otherwise
	}
	return value
}

// TestRandomClusters asks both of $GALEN_ALLOC_CLUSTERS clusters, from seed $GALEN_ALLOC_SEED on.
func TestRandomClusters(t *testing.T) {
	peer := startPeer(t)
	count, first := number("GALEN_ALLOC_CLUSTERS", 2000), number("GALEN_ALLOC_SEED", 1)
	counts, late := &tally{}, 0
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})
	features := incubating.SupportedFeatures
	for seed := first; seed < first+count && counts.differ < 20; seed++ {
		cluster := NewCluster(seed)
		allocator, err := incubating.NewAllocator(context.Background(), features, cluster.State,
			classList(cluster.Classes), cluster.Slices, cache)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		results, err := allocator.Allocate(ctx, cluster.Node, cluster.Claims)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			late++
			continue
		}
		question := &Question{
			Options: Options{Minor: 37, Features: featuresOf(features)},
			Held:    HeldOf(cluster.State), Classes: cluster.Classes, Slices: cluster.Slices,
			Node: cluster.Node, Claims: cluster.Claims,
		}
		before, calls := counts.differ, allocator.GetStats().NumAllocateOneInvocations
		counts.compare(t, peer, question, results, err, calls)
		if counts.differ > before {
			t.Errorf("seed %d", seed)
		}
	}
	t.Logf("seeds %d to %d; upstream was late for %d", first, first+count-1, late)
	report(t, "random clusters", counts)
}
