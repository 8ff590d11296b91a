package stories

import (
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// How the image is made, apart from what becomes of it on a node. Run once: no Kubernetes is in
// it.

func toldOnce(t *testing.T) {
	t.Helper()
	if !cluster.Is("1.37") {
		t.Skip("run once: no Kubernetes is in it")
	}
}

// imageOf runs deploy/image.sh on programs of a directory, with more of an environment.
func imageOf(programs, into string, more ...string) error {
	command := exec.Command(filepath.Join(Root(), "deploy", "image.sh"), programs, into, "0.0.0")
	command.Env = append(os.Environ(), more...)
	if said, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make the image: %w: %s", err, said)
	}
	return nil
}

var galensPrograms = []string{"galen-agent", "galen", "galen-driver"}

func TestAnImageThatWouldLackALibraryIsNotMade(t *testing.T) {
	sameOnBoth(t)
	toldOnce(t)
	shim, into := t.TempDir(), t.TempDir()
	// As ldd prints for a machine that lacks one of several.
	script := "#!/bin/sh\n/usr/bin/ldd \"$@\"\necho '\tlibmissing.so.1 => not found'\n"
	if err := os.WriteFile(filepath.Join(shim, "ldd"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	err := imageOf(filepath.Dir(Program("galen-agent")), into,
		"PATH="+shim+":"+os.Getenv("PATH"))
	if err == nil || !strings.Contains(err.Error(), "missing libmissing.so.1") {
		t.Errorf("wanted a fault that names the library: %v", err)
	}
	if files, _ := os.ReadDir(into); len(files) > 0 {
		t.Errorf("something was made: %v", files)
	}
}

// The directory of a build is in what debuggers read, and by that in the build's id. So two
// checkouts differ in their ids at least: a copy with other ids is to give the same image.
func TestTheImageIsTheSameWhereverItsProgramsWereBuilt(t *testing.T) {
	sameOnBoth(t)
	toldOnce(t)
	elsewhere := t.TempDir()
	for _, name := range galensPrograms {
		text, err := os.ReadFile(Program(name))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(elsewhere, name)
		if err := os.WriteFile(copied, withOtherID(t, text), 0o755); err != nil {
			t.Fatal(err)
		}
		requireNoPathOf(t, Program(name))
	}
	var sums []string
	for _, programs := range []string{filepath.Dir(Program("galen-agent")), elsewhere} {
		into := t.TempDir()
		if err := imageOf(programs, into); err != nil {
			t.Fatal(err)
		}
		image, err := os.ReadFile(filepath.Join(into, "galen.tar"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(image)))
	}
	if sums[0] != sums[1] {
		t.Errorf("the images of two builds differ: %v", sums)
	}
}

// withOtherID is a program as another build would have linked it.
func withOtherID(t *testing.T, program []byte) []byte {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	section := file.Section(".note.gnu.build-id")
	if section == nil {
		return program // linked without one
	}
	const idBytes = 20
	end := section.Offset + section.Size
	for i := end - idBytes; i < end; i++ {
		program[i] ^= 0xff
	}
	return program
}

// requireNoPathOf: what is packed of a program names no file by where this checkout is.
func requireNoPathOf(t *testing.T, program string) {
	t.Helper()
	packed := filepath.Join(t.TempDir(), "packed")
	if said, err := exec.Command("strip", "--strip-all", "-o", packed,
		program).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v: %s", err, said)
	}
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(text, []byte(Root()+"/")); at >= 0 {
		t.Errorf("%s holds %q", program, text[at:min(at+80, len(text))])
	}
}

func TestAnImageOnAFullDiskLeavesTheOldOneAndItsBill(t *testing.T) {
	sameOnBoth(t)
	toldOnce(t)
	// A mount of its own: a run that is killed leaves none on the machine.
	const script = `set -e; mount -t tmpfs -o size=4m none "$1"; cd "$1"
		for f in galen.spdx.json galen.tar; do printf old > $f; done
		if "$2" "$3" "$1" 0.0.0; then echo made; fi
		echo left:; for f in *; do echo "$f $(head -c 9 $f)"; done`
	command := exec.Command("unshare", "--mount", "sh", "-c", script, "sh", t.TempDir(),
		filepath.Join(Root(), "deploy", "image.sh"), filepath.Dir(Program("galen-agent")))
	said, err := command.CombinedOutput()
	told, left, _ := strings.Cut(string(said), "left:\n")
	if err != nil || !strings.Contains(told, "No space left") || strings.Contains(told, "made") {
		t.Errorf("wanted the full disk's fault: %v: %s", err, said)
	}
	if want := "galen.spdx.json old\ngalen.tar old\n"; left != want {
		t.Errorf("wanted the old files alone, there are:\n%s", left)
	}
}
