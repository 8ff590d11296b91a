package main

import "testing"

func TestACensusNamesWhatCameAndWhatWent(t *testing.T) {
	before := census{"links": {"lo", "eth0"}, "mounts": {"/"}}
	after := census{"links": {"lo", "galen-1"}, "mounts": {"/"}}
	want := "left behind, of links: galen-1\nlost, of links: eth0"
	if got := before.difference(after); got != want {
		t.Errorf("%q", got)
	}
	if got := before.difference(before); got != "" {
		t.Errorf("no difference: %q", got)
	}
}

func TestACgroupHoldsWhatIsBelowItAndNotWhatIsBesideIt(t *testing.T) {
	self, _ := processOf(1)
	if cgroup("/galen-cluster-none").holds(self) {
		t.Error("the first process is in a cluster's control group")
	}
}
