package main

import (
	"os"
	"path/filepath"
	"testing"
)

// rootGroup stands in for a mounted hierarchy: it has these controllers and hands these down.
// What is written to its switch is read there again, as its last entry.
func rootGroup(t *testing.T, has, handsDown string) delegation {
	t.Helper()
	d := delegation{t.TempDir(), filepath.Join(t.TempDir(), "note")}
	for list, text := range map[string]string{"controllers": has, "subtree_control": handsDown} {
		path := filepath.Join(d.mount, "cgroup."+list)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d delegation) set(t *testing.T, handsDown string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(d.mount, "cgroup.subtree_control"), []byte(handsDown),
		0o600); err != nil {
		t.Fatal(err)
	}
}

// cluster is another one's group, with or without processes.
func (d delegation) cluster(t *testing.T, populated string) {
	t.Helper()
	group := filepath.Join(d.mount, "galen-cluster-2")
	if err := os.MkdirAll(group, 0o700); err != nil {
		t.Fatal(err)
	}
	events := filepath.Join(group, "cgroup.events")
	if err := os.WriteFile(events, []byte(populated), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d delegation) switched() string {
	text, _ := os.ReadFile(filepath.Join(d.mount, "cgroup.subtree_control"))
	return string(text)
}

func TestOnlyWhatAKubeletLimitsIsHandedDown(t *testing.T) {
	d := rootGroup(t, "io memory misc", "")
	if err := d.handDown("/galen-cluster-1"); err != nil || d.switched() != "+memory" {
		t.Errorf("%q, %v", d.switched(), err)
	}
	d = rootGroup(t, "io misc", "io")
	if err := d.handDown("/galen-cluster-1"); err != nil || d.switched() != "io" {
		t.Errorf("%q, %v", d.switched(), err)
	}
}

func TestTheLastClusterSetsBackWhatTheFirstFound(t *testing.T) {
	d := rootGroup(t, "cpu memory", "memory")
	d.cluster(t, "populated 1")
	for range 2 { // two clusters, of which the second finds what the first has done
		if err := d.handDown("/galen-cluster-1/node-1"); err != nil {
			t.Fatal(err)
		}
		d.set(t, "cpu memory")
	}
	if err := d.giveBack(); err != nil || d.switched() != "cpu memory" {
		t.Errorf("with another cluster up: %q, %v", d.switched(), err)
	}
	d.cluster(t, "populated 0")
	if err := d.giveBack(); err != nil || d.switched() != "-cpu" {
		t.Errorf("at the end: %q, %v", d.switched(), err)
	}
	if _, err := os.Stat(d.note); err == nil {
		t.Error("the note is still there")
	}
	d.set(t, "cpu memory")
	if err := d.giveBack(); err != nil || d.switched() != "cpu memory" {
		t.Errorf("without a note: %q, %v", d.switched(), err)
	}
}

func TestANoteOfAnotherBootIsNotBelieved(t *testing.T) {
	d := rootGroup(t, "cpu", "cpu")
	if err := os.WriteFile(d.note, []byte("another 7\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.giveBack(); err != nil || d.switched() != "cpu" {
		t.Errorf("%q, %v", d.switched(), err)
	}
	if _, err := os.Stat(d.note); err == nil {
		t.Error("the note is still there")
	}
	if err := d.remember(); err != nil {
		t.Fatal(err)
	}
	if given, known := d.before(); !known || len(given) != 1 || given[0] != "cpu" {
		t.Errorf("%v, %v", given, known)
	}
}
