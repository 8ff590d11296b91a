package alloc

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cel.dev/expr"
	_ "cel.dev/expr/conformance/proto2"
	_ "cel.dev/expr/conformance/proto3"
	conformance "cel.dev/expr/conformance/test"
	"google.golang.org/protobuf/encoding/prototext"
)

// The expressions of CEL's own conformance tests, in Kubernetes' environment: what the original
// makes of them there is what ours must make of them.

// Files about messages, enums and libraries that Kubernetes does not have are left out.
var conformanceFiles = []string{"basic", "bindings_ext", "comparisons", "conversions",
	"fp_math", "integer_math",
	"lists", "logic", "macros", "macros2", "optionals", "parse", "plumbing", "string",
	"string_ext", "timestamps"}

func TestCelConformance(t *testing.T) {
	peer := startPeer(t, "cel")
	dir := filepath.Join(moduleDir(t, "cel.dev/expr"), "tests", "simple", "testdata")
	counts := map[string]int{}
	for _, name := range conformanceFiles {
		content, err := os.ReadFile(filepath.Join(dir, name+".textproto"))
		if err != nil {
			t.Fatal(err)
		}
		var file conformance.SimpleTestFile
		if err := prototext.Unmarshal(content, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, section := range file.GetSection() {
			for _, test := range section.GetTest() {
				selector, ok := selectorOf(test)
				if !ok {
					counts["left out"]++
					continue
				}
				var ours celAnswer
				device := celDevice{Driver: "d.io"}
				peer.ask(celQuestion{Expr: selector, Device: device, Minor: 37}, &ours)
				original := celOriginal(selector, device)
				counts[original.Outcome]++
				if ours.Outcome == "unsupported" {
					counts["unsupported"]++
				}
				if difference := celDiffers(selector, ours, original); difference != "" {
					t.Errorf("%s/%s/%s: %s\n  %s", name, section.GetName(), test.GetName(), selector, difference)
				}
			}
		}
	}
	t.Logf("%v", counts)
}

// selectorOf is a selector that is true where the test passes, or an error where that is expected.
func selectorOf(test *conformance.SimpleTest) (string, bool) {
	if len(test.GetTypeEnv()) > 0 || len(test.GetBindings()) > 0 || test.GetCheckOnly() ||
		test.GetContainer() != "" {
		return "", false
	}
	if test.GetEvalError() != nil {
		return fmt.Sprintf("dyn(%s) == dyn(1)", test.GetExpr()), true
	}
	value := test.GetValue()
	if value == nil {
		value = test.GetTypedResult().GetResult()
	}
	if value == nil {
		return fmt.Sprintf("dyn(%s) == dyn(true)", test.GetExpr()), true
	}
	literal, ok := literalOf(value)
	return fmt.Sprintf("dyn(%s) == dyn(%s)", test.GetExpr(), literal), ok
}

func literalOf(value *expr.Value) (string, bool) {
	switch v := value.GetKind().(type) {
	case *expr.Value_NullValue:
		return "null", true
	case *expr.Value_BoolValue:
		return strconv.FormatBool(v.BoolValue), true
	case *expr.Value_Int64Value:
		return strconv.FormatInt(v.Int64Value, 10), true
	case *expr.Value_Uint64Value:
		return strconv.FormatUint(v.Uint64Value, 10) + "u", true
	case *expr.Value_DoubleValue:
		if math.IsNaN(v.DoubleValue) || math.IsInf(v.DoubleValue, 0) {
			return fmt.Sprintf("double(%q)", fmt.Sprint(v.DoubleValue)), true
		}
		return fmt.Sprintf("double(%q)", strconv.FormatFloat(v.DoubleValue, 'g', -1, 64)), true
	case *expr.Value_StringValue:
		return celQuoted(v.StringValue), true
	case *expr.Value_BytesValue:
		text := ""
		for _, b := range v.BytesValue {
			text += fmt.Sprintf("\\x%02x", b)
		}
		return `b"` + text + `"`, true
	case *expr.Value_TypeValue:
		return v.TypeValue, true
	case *expr.Value_ListValue:
		items := []string{}
		for _, item := range v.ListValue.GetValues() {
			literal, ok := literalOf(item)
			if !ok {
				return "", false
			}
			items = append(items, "dyn("+literal+")")
		}
		return "[" + strings.Join(items, ", ") + "]", true
	case *expr.Value_MapValue:
		entries := []string{}
		for _, entry := range v.MapValue.GetEntries() {
			key, okKey := literalOf(entry.GetKey())
			item, okItem := literalOf(entry.GetValue())
			if !okKey || !okItem {
				return "", false
			}
			entries = append(entries, fmt.Sprintf("dyn(%s): dyn(%s)", key, item))
		}
		return "{" + strings.Join(entries, ", ") + "}", true
	}
	return "", false
}

func celQuoted(text string) string {
	quoted := `"`
	for _, c := range text {
		quoted += fmt.Sprintf("\\U%08x", c)
	}
	return quoted + `"`
}
