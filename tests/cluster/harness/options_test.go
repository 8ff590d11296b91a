package main

import (
	"slices"
	"strings"
	"testing"
)

func TestFlagsMayFollowWordsAndAllAfterTwoDashesIsTheCommand(t *testing.T) {
	line := newCommandLine("exec")
	c, words, err := line.parse([]string{"node-1", "--dir", "/tmp/x", "--", "ls", "--dir", "/y"})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"node-1", "ls", "--dir", "/y"}; !slices.Equal(words, want) {
		t.Fatalf("words %q, wanted %q", words, want)
	}
	if c.dir != "/tmp/x" {
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
	one, _ := clusterAt("/tmp/a")
	same, _ := clusterAt("/tmp/b/../a")
	other, _ := clusterAt("/tmp/b")
	if one.id != same.id || one.id == other.id {
		t.Fatalf("%s %s %s", one.id, same.id, other.id)
	}
	if link := one.machineLink(); len(link) > 15 {
		t.Fatalf("%s is too long for a link", link)
	}
}

func TestGatesAreTheSameOnTheCommandLineAndInAFile(t *testing.T) {
	c, _ := clusterAt("/tmp/a")
	c.state.Options.FeatureGates = "A=true,B=false"
	if got := c.gateLines(); got != "{A: true, B: false}" {
		t.Fatal(got)
	}
	if got := c.gates(); !slices.Equal(got, []string{"--feature-gates=A=true,B=false"}) {
		t.Fatal(got)
	}
}
