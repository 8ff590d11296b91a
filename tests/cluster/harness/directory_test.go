package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// place is a cluster in a new directory, which is not there yet.
func place(t *testing.T) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "galen-d-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return at(t, filepath.Join(dir, "c"))
}

func at(t *testing.T, dir string) *cluster {
	t.Helper()
	c, err := clusterAt(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// put makes files, empty ones, with the directories that they are in.
func put(t *testing.T, c *cluster, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.path(name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func contents(c *cluster) []string {
	entries, _ := os.ReadDir(c.dir)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func requireRefused(t *testing.T, err error, words string) {
	t.Helper()
	var refusal fault
	if !errors.As(err, &refusal) || refusal.code != exitUsage ||
		!strings.Contains(refusal.text, words) {
		t.Errorf("wanted a refusal with %q, not: %v", words, err)
	}
}

func TestADirectoryWithNamesLikeAClustersIsNoneWithoutItsMark(t *testing.T) {
	for _, name := range []string{"logs/run.log", "lock", "cluster.json.old", "node-1/x",
		"thesis.tex"} {
		c := place(t)
		put(t, c, name)
		requireRefused(t, c.checkDirectory(), "holds other things")
		if release, err := c.lock(); err == nil {
			release()
			t.Errorf("a directory with %s is taken", name)
		}
		if got := contents(c); !slices.Equal(got, []string{strings.Split(name, "/")[0]}) {
			t.Errorf("now there is %v beside %s", got, name)
		}
	}
}

func TestAMarkOfAnotherPlaceIsNotOurs(t *testing.T) {
	here, there := place(t), place(t)
	release, err := here.lock()
	if err != nil {
		t.Fatal(err)
	}
	put(t, here, "logs/x")
	release()
	if err := os.Rename(here.dir, there.dir); err != nil {
		t.Fatal(err)
	}
	requireRefused(t, there.checkDirectory(), "of a cluster in another place")
}

func TestAMarkThatACrashLeftEmptyIsWrittenAgainAndOneBesideOtherThingsIsNot(t *testing.T) {
	c := place(t)
	put(t, c, markName)
	release, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	release()
	if text, _ := os.ReadFile(c.path(markName)); string(text) != c.id+"\n" {
		t.Errorf("the mark is %q", text)
	}
	other := place(t)
	put(t, other, markName, "thesis.tex")
	requireRefused(t, other.checkDirectory(), markName)
}

func TestOneCommandAtATimeWorksInADirectory(t *testing.T) {
	c := place(t)
	release, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at(t, c.dir).lock(); err == nil || !strings.Contains(err.Error(), "at work in") {
		t.Errorf("a second lock: %v", err)
	}
	release()
	if again, err := c.lock(); err != nil {
		t.Errorf("after the first: %v", err)
	} else {
		again()
	}
}

func TestOnlyWhatIsTheClustersIsRemoved(t *testing.T) {
	c := place(t)
	release, err := c.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	put(t, c, "logs/etcd.log", "etcd/db", "keys/ca.crt", "node-1/lib/x", "node-32/run/x",
		"kubeconfig", "control/lib/x", "images.tar", "cluster.json", "cluster.json.new",
		"node-33/x", "node-01/x", "node-x/x", "logs.old", "thesis.tex")
	kept, err := c.removeFiles("logs")
	want := []string{"logs.old", "node-01", "node-33", "node-x", "thesis.tex"}
	if err != nil || !slices.Equal(kept, want) {
		t.Errorf("%v, %v", kept, err)
	}
	if got := contents(c); !slices.Contains(got, "logs") || !slices.Contains(got, markName) {
		t.Errorf("what is kept is %v", got)
	}
	kept, err = c.removeFiles()
	if err != nil || !slices.Equal(kept, want) || !slices.Equal(contents(c), want) {
		t.Errorf("left are %v, named are %v, %v", contents(c), kept, err)
	}
	for _, name := range want {
		if err := os.RemoveAll(c.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.mark(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.removeFiles(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.dir); err == nil {
		t.Error("the directory is still there")
	}
}

func TestADirectoryOfSomebodyElseIsRefused(t *testing.T) {
	c := place(t)
	put(t, c, markName)
	if err := checkOwner(c.dir); err != nil {
		t.Errorf("our own is refused: %v", err)
	}
	for _, mode := range []os.FileMode{0o770, 0o702} {
		if err := os.Chmod(c.dir, mode); err != nil {
			t.Fatal(err)
		}
		_, err := clusterAt(c.dir)
		requireRefused(t, err, "can be written to by others")
	}
	link := c.dir + "-link"
	if err := os.Symlink(c.dir, link); err != nil {
		t.Fatal(err)
	}
	_, err := clusterAt(link)
	requireRefused(t, err, "is a link")
	_, err = clusterAt(c.path(markName))
	requireRefused(t, err, "is no directory")
	// Whose it is, is looked at before what its file says of programs and processes.
	if err := os.WriteFile(c.path("cluster.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	notOurs(t, c.dir)
	_, err = clusterAt(c.dir)
	requireRefused(t, err, "belongs to user")
}

// notOurs gives the directory to somebody else.
func notOurs(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatalf("this test takes root, as all clusters do: %v", err)
	}
}
