package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// ownDirectory is short, as sockets below it must be (t.TempDir is not), and nobody else's.
func ownDirectory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "g")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func mustClusterAt(t *testing.T, dir string) *cluster {
	t.Helper()
	c, err := clusterAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFlagsMayFollowWordsAndAllAfterTwoDashesIsTheCommand(t *testing.T) {
	line := newCommandLine("exec")
	dir := ownDirectory(t) + "/x"
	c, words, err := line.parse([]string{"node-1", "--dir", dir, "--", "ls", "--dir", "/y"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"node-1", "ls", "--dir", "/y"}; !slices.Equal(words, want) {
		t.Fatalf("words %q, wanted %q", words, want)
	}
	if c.dir != dir {
		t.Fatalf("dir %s", c.dir)
	}
}

func TestEveryWrongOptionIsNamedAtOnce(t *testing.T) {
	err := options{Version: "2.0", Nodes: 99, FeatureGates: "A=true,B"}.check()
	if err == nil {
		t.Fatal("no fault")
	}
	for _, word := range []string{"--version 2.0", "--nodes 99", "--feature-gates B"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in %q", word, err)
		}
	}
}

func TestADirectoryWhosePathLeavesNoRoomForSocketsIsRefused(t *testing.T) {
	if _, err := clusterAt("/tmp/" + strings.Repeat("x", 60)); err == nil {
		t.Fatal("no fault")
	}
}

func TestTheSameDirectoryHasTheSameIdAndLinkNameThatFits(t *testing.T) {
	dir := ownDirectory(t)
	one := mustClusterAt(t, dir+"/a")
	same := mustClusterAt(t, dir+"/b/../a")
	other := mustClusterAt(t, dir+"/b")
	if one.id != same.id || one.id == other.id {
		t.Fatalf("%s %s %s", one.id, same.id, other.id)
	}
	if link := one.machineLink(); len(link) > 15 {
		t.Fatalf("%s is too long for a link", link)
	}
}

func TestGatesAreTheSameOnTheCommandLineAndInAFile(t *testing.T) {
	c := mustClusterAt(t, ownDirectory(t)+"/a")
	c.state.Options.FeatureGates = "A=true,B=false"
	if got := c.gateLines(); got != "{A: true, B: false}" {
		t.Fatal(got)
	}
	if got := c.gates(); !slices.Equal(got, []string{"--feature-gates=A=true,B=false"}) {
		t.Fatal(got)
	}
}
