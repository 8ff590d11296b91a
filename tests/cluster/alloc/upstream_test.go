package alloc

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	resourceapi "k8s.io/api/resource/v1"
)

// The table of cases of Kubernetes' own test of its CEL package, which is not exported: the module
// is copied to a scratch directory with one more test, which writes the table down.

const celExporter = `package cel

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apiserver/pkg/cel/environment"
)

func TestExportCases(t *testing.T) {
	out := []map[string]any{}
	for name, c := range testcases {
		if c.envType != nil && *c.envType == environment.NewExpressions {
			continue
		}
		out = append(out, map[string]any{
			"name": name, "expression": c.expression, "driver": c.driver,
			"allowMultipleAllocations": c.allowMultipleAllocations,
			"attributes": c.attributes, "capacity": c.capacity,
			"compileError": c.expectCompileError, "matchError": c.expectMatchError, "match": c.expectMatch,
		})
	}
	content, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv("CASES"), content, 0o600); err != nil {
		t.Fatal(err)
	}
}
`

type upstreamCase struct {
	Name                     string
	Expression               string
	Driver                   string
	AllowMultipleAllocations *bool
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity
	CompileError             string
	MatchError               string
	Match                    bool
}

func (c upstreamCase) outcome() string {
	switch {
	case c.CompileError != "":
		return "compile"
	case c.MatchError != "":
		return "run"
	case c.Match:
		return "true"
	}
	return "false"
}

// moduleDir is where a module that we require lies.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	return strings.TrimSpace(string(dir))
}

// upstreamCases needs the sources of what upstream's tests need; without them the test is skipped.
func upstreamCases(t *testing.T) []upstreamCase {
	t.Helper()
	scratch := filepath.Join(t.TempDir(), "module")
	if err := os.CopyFS(scratch, os.DirFS(moduleDir(t,
		"k8s.io/dynamic-resource-allocation"))); err != nil {
		t.Fatal(err)
	}
	// The copy keeps the modes of the module cache, where nothing may be written.
	if err := os.Chmod(filepath.Join(scratch, "cel"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(scratch, "cel", "export_cases_test.go"),
		[]byte(celExporter), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cases.json")
	command := exec.Command("go", "test", "-mod=mod", "-run", "^TestExportCases$", "./cel")
	command.Dir = scratch
	command.Env = append(os.Environ(), "CASES="+file, "GOFLAGS=")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("export upstream's cases: %v\n%s", err, output)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases := []upstreamCase{}
	if err := json.Unmarshal(content, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestCelPassesUpstreamsTable(t *testing.T) {
	cases := upstreamCases(t)
	if len(cases) < 60 {
		t.Fatalf("upstream's table has %d cases only", len(cases))
	}
	peer := startPeer(t, "cel")
	for _, c := range cases {
		device := celDevice{Driver: c.Driver, AllowMultipleAllocations: c.AllowMultipleAllocations,
			Attributes: c.Attributes, Capacity: c.Capacity}
		var ours celAnswer
		peer.ask(celQuestion{Expr: c.Expression, Device: device, Minor: 37}, &ours)
		if ours.Outcome != c.outcome() {
			t.Errorf("%s: %s\n  ours %s (%s), upstream expects %s (%s%s)", c.Name, c.Expression,
				ours.Outcome,
				ours.Error, c.outcome(), c.CompileError, c.MatchError)
		}
	}
	t.Logf("%d cases", len(cases))
}
