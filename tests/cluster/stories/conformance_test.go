package stories

import (
	"encoding/json"
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A verdict is one check of galen conformance -o json.
type check struct{ ID, Verdict, Expected, Seen string }

// conformance runs galen conformance against a driver on node-1, and gives back its checks and its
// mode ("full" or "read-only").
func conformance(t *testing.T, driver string, flags ...string) (checks []check, mode string) {
	t.Helper()
	flags = append([]string{"conformance", driver, "--kubeconfig",
		filepath.Join(cluster.Dir, "kubeconfig"), "--node", "node-1", "-o", "json"}, flags...)
	p := cluster.Run(t, "node-1", "galen", flags...)
	code, ended := p.Wait(2 * time.Minute)
	if !ended || code > 1 {
		t.Fatalf("galen conformance ended with %d: %s", code, p.Log())
	}
	// What goes to standard error comes before the report.
	_, text, _ := strings.Cut(p.Log(), "{")
	var report struct {
		Drivers []struct {
			Driver, Mode string
			Checks       []check
		}
	}
	if err := json.Unmarshal([]byte("{"+text), &report); err != nil || len(report.Drivers) != 1 {
		t.Fatalf("no report of one driver (%v): %s", err, p.Log())
	}
	checks = report.Drivers[0].Checks
	if failed := having(checks, "failed"); (code == 1) != (len(failed) > 0) {
		t.Errorf("exit code %d with %q failed", code, failed)
	}
	return checks, report.Drivers[0].Mode
}

// requireJUnit wants the same checks in the report that a build server reads.
func requireJUnit(t *testing.T, driver string, checks []check) {
	t.Helper()
	text := cluster.Output(t, "node-1", "galen", "conformance", driver, "--kubeconfig",
		filepath.Join(cluster.Dir, "kubeconfig"), "--node", "node-1", "-o", "junit", "--patience", "1s")
	var suites struct {
		Suites []struct {
			Cases []struct {
				Failure *struct{} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	_, report, _ := strings.Cut(text, "<?xml")
	if err := xml.Unmarshal([]byte("<?xml"+report), &suites); err != nil {
		t.Fatalf("no JUnit report (%v): %s", err, text)
	}
	cases, failures := 0, 0
	for _, suite := range suites.Suites {
		for _, each := range suite.Cases {
			cases++
			if each.Failure != nil {
				failures++
			}
		}
	}
	if failed := having(checks, "failed"); cases != len(checks) || failures != len(failed) {
		t.Errorf("%d test cases and %d failures for %d checks of which %q failed", cases, failures,
			len(checks), failed)
	}
}

// having are the ids of the checks with that verdict, sorted.
func having(checks []check, verdict string) []string {
	var ids []string
	for _, each := range checks {
		if each.Verdict == verdict {
			ids = append(ids, each.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// requireFailed wants these checks to have failed and no others.
func requireFailed(t *testing.T, checks []check, wanted ...string) {
	t.Helper()
	if failed := having(checks, "failed"); !slices.Equal(failed, wanted) {
		for _, each := range checks {
			if each.Verdict == "failed" {
				t.Logf("%s: %s; seen: %s", each.ID, each.Expected, each.Seen)
			}
		}
		t.Errorf("failed: %q, wanted %q", failed, wanted)
	}
}

func TestOurDriverConformsBesideAKubeletAndWithoutOne(t *testing.T) {
	sameOnBoth(t)
	startGpus(t)
	// What takes a deadline's time is looked at below.
	checks, mode := conformance(t, gpuDriver, "--patience", "1s")
	if mode != "read-only" {
		t.Errorf("beside a kubelet the mode is %s", mode)
	}
	requireFailed(t, checks)
	requireJUnit(t, gpuDriver, checks)
	t.Logf("beside the kubelet: %d passed", len(having(checks, "passed")))
	withoutKubelet(t, func() {
		checks, mode = conformance(t, gpuDriver, "--full")
		if mode != "full" {
			t.Errorf("the mode is %s", mode)
		}
		requireFailed(t, checks)
		requirePrepared(t, checks)
		t.Logf("full: %d passed, not checked: %q", len(having(checks, "passed")),
			having(checks, "not checked"))
	})
}

// What Kubernetes' own helper does otherwise is in docs/guide/conformance.md; the rest is right,
// and what the driver is told to do wrong is found.
func TestTheGoDriverConformsButForWhatItsHelperDoesAndWhatItIsToldToDoWrong(t *testing.T) {
	sameOnBoth(t)
	driver := startReference(t, "--timeout", "3s")
	withoutKubelet(t, func() {
		checks, _ := conformance(t, refDriver, "--full")
		requireFailed(t, checks, "claims.error-per-claim", "claims.mixed")
		requirePrepared(t, checks)
		t.Logf("full: %d passed, not checked: %q", len(having(checks, "passed")),
			having(checks, "not checked"))
		driver.Tell(t, "prepare wrong-uid")
		checks, _ = conformance(t, refDriver, "--full")
		if !slices.Contains(having(checks, "failed"), "claims.prepare") {
			t.Errorf("a driver that answers for another claim failed only %q", having(checks, "failed"))
		}
	})
}

// withoutKubelet lets do have node-1 without its kubelet: conformance plays the kubelet.
func withoutKubelet(t *testing.T, do func()) {
	t.Helper()
	cluster.Kill(t, "node-1/kubelet")
	defer cluster.Start(t, "node-1/kubelet")
	do()
}

// requirePrepared wants claims to have been prepared, not left out.
func requirePrepared(t *testing.T, checks []check) {
	t.Helper()
	passed := having(checks, "passed")
	for _, id := range []string{"claims.prepare", "claims.devices", "claims.prepare-again",
		"claims.unprepare", "claims.unprepare-deleted", "cdi.ids-exist"} {
		if !slices.Contains(passed, id) {
			t.Errorf("%s was not passed", id)
		}
	}
}
