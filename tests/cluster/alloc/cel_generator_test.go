package alloc

import (
	"fmt"
	"math/rand"
)

// celGenerator writes random expressions: mostly of fitting types, and now and then of any.
type celGenerator struct {
	random *rand.Rand
}

func (g *celGenerator) oneOf(choices ...func() string) string {
	return choices[g.random.Intn(len(choices))]()
}

func (g *celGenerator) text(choices ...string) string { return pick(g.random, choices) }

func (g *celGenerator) selector() string { return g.boolean(2+g.random.Intn(3), nil) }

// vars are the variables of macros in scope.
func (g *celGenerator) any(depth int, vars []string) string {
	return g.oneOf(
		func() string { return g.boolean(depth, vars) },
		func() string { return g.number(depth, vars) },
		func() string { return g.str(depth, vars) },
		func() string { return g.attribute(vars) },
		func() string { return g.list(depth, vars) },
		func() string { return g.quantity(depth, vars) },
		func() string { return g.version(depth, vars) },
		func() string { return g.optional(depth, vars) },
		func() string { return g.mapping(depth, vars) },
		func() string {
			return g.text("null", "type(1)", "int", "b'ab'", "1u", "duration('1s')",
				"timestamp('2026-01-02T03:04:05Z')", "2.5")
		},
	)
}

// attribute is a value that only the evaluation knows the type of.
func (g *celGenerator) attribute(vars []string) string {
	if len(vars) > 0 && g.random.Intn(3) == 0 {
		return pick(g.random, vars)
	}
	domain, id := pick(g.random, celDomains), pick(g.random, celIds)
	return g.text(
		fmt.Sprintf("device.attributes[%q].%s", domain, id),
		fmt.Sprintf("device.attributes[%q].%s", domain, id),
		fmt.Sprintf("device.attributes[%q][%q]", domain, id),
		fmt.Sprintf("device.attributes[%q].?%s.orValue(1)", domain, id),
		fmt.Sprintf("dyn(device.attributes)[device.driver].%s", id),
		"device.attributes['nosuch'].x",
	)
}

func (g *celGenerator) operand(depth int, vars []string, fitting func(int,
	[]string) string) string {
	switch g.random.Intn(24) {
	case 0:
		return g.any(depth-1, vars)
	case 1, 2, 3, 4, 5, 6:
		return g.attribute(vars)
	}
	return fitting(depth-1, vars)
}

func (g *celGenerator) boolean(depth int, vars []string) string {
	if depth <= 0 {
		return g.oneOf(
			func() string { return g.text("true", "false", "device.allowMultipleAllocations") },
			func() string { return g.attribute(vars) },
			func() string {
				return fmt.Sprintf("has(device.attributes[%q].%s)", pick(g.random, celDomains),
					pick(g.random, celIds))
			},
			func() string {
				return fmt.Sprintf("%q in device.attributes[%q]", pick(g.random, celIds), pick(g.random,
					celDomains))
			},
			func() string { return fmt.Sprintf("device.driver == %q", pick(g.random, celDomains)) },
		)
	}
	boolean := func() string { return g.operand(depth, vars, g.boolean) }
	number := func() string { return g.operand(depth, vars, g.number) }
	str := func() string { return g.operand(depth, vars, g.str) }
	list := func() string { return g.operand(depth, vars, g.list) }
	quantity := func() string { return g.operand(depth, vars, g.quantity) }
	version := func() string { return g.operand(depth, vars, g.version) }
	compare := func() string { return g.text("==", "!=", "<", "<=", ">", ">=") }
	return g.oneOf(
		func() string { return fmt.Sprintf("(%s && %s)", boolean(), boolean()) },
		func() string { return fmt.Sprintf("(%s || %s)", boolean(), boolean()) },
		func() string { return "!" + g.paren(boolean()) },
		func() string { return fmt.Sprintf("(%s ? %s : %s)", boolean(), boolean(), boolean()) },
		func() string { return fmt.Sprintf("(%s %s %s)", number(), compare(), number()) },
		func() string { return fmt.Sprintf("(%s %s %s)", str(), compare(), str()) },
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.any(depth-1, vars), g.text("==", "!="), g.any(depth-1, vars))
		},
		func() string {
			return fmt.Sprintf("(%s %s %s)", g.attribute(vars), compare(), g.any(depth-1,
				vars))
		},
		func() string {
			return fmt.Sprintf("%s.%s(%s)", g.paren(str()), g.text("contains", "startsWith", "endsWith"),
				str())
		},
		func() string {
			return fmt.Sprintf("%s.matches(%s)", g.paren(str()), g.text("'^a'", "'[0-9]+'", "'('",
				"device.driver", "'.*'"))
		},
		func() string { return fmt.Sprintf("(%s in %s)", g.any(depth-1, vars), list()) },
		func() string { return fmt.Sprintf("(%s in %s)", str(), g.mapping(depth-1, vars)) },
		func() string { return g.quantifier(depth, vars) },
		func() string { return g.quantifier(depth, vars) },
		func() string {
			return fmt.Sprintf("%s.%s(%s)", g.paren(quantity()), g.text("isGreaterThan", "isLessThan"),
				quantity())
		},
		func() string { return fmt.Sprintf("%s.compareTo(%s) >= 0", g.paren(version()), version()) },
		func() string { return fmt.Sprintf("%s.compareTo(%s) < 1", g.paren(quantity()), quantity()) },
		func() string { return fmt.Sprintf("%s.isInteger()", g.paren(quantity())) },
		func() string { return fmt.Sprintf("isQuantity(%s)", str()) },
		func() string { return fmt.Sprintf("isSemver(%s%s)", str(), g.text("", "", ", true")) },
		func() string {
			return fmt.Sprintf("%s.includes(%s)", g.paren(g.any(depth-1, vars)), g.any(depth-1, vars))
		},
		func() string { return fmt.Sprintf("%s.hasValue()", g.optional(depth-1, vars)) },
		func() string { return fmt.Sprintf("%s.isSorted()", g.paren(list())) },
		func() string {
			return fmt.Sprintf("sets.%s(%s, %s)", g.text("contains", "equivalent", "intersects"), list(),
				list())
		},
		func() string {
			return fmt.Sprintf("cel.bind(v, %s, %s)", g.any(depth-1, vars), g.boolean(depth-1,
				append(vars, "v")))
		},
		func() string {
			return fmt.Sprintf("cel.bind(a, device.attributes[%q], a.%s == %s)", pick(g.random,
				celDomains), pick(g.random, celIds), g.any(depth-1, vars))
		},
		func() string { return fmt.Sprintf("%s.orValue(%s)", g.optional(depth-1, vars), boolean()) },
		func() string {
			return fmt.Sprintf("type(%s) == %s", g.any(depth-1, vars), g.text("int", "string", "bool",
				"list", "double"))
		},
	)
}

func (g *celGenerator) paren(text string) string { return "(" + text + ")" }

func (g *celGenerator) quantifier(depth int, vars []string) string {
	name := g.text("x", "y")
	over := g.oneOf(
		func() string { return g.list(depth-1, vars) },
		func() string { return g.attribute(vars) },
		func() string { return g.mapping(depth-1, vars) },
		func() string {
			return g.text("device.attributes", "device.attributes['d.io']", "device.capacity['d.io']")
		},
	)
	if g.random.Intn(4) == 0 {
		return fmt.Sprintf("%s.%s(%s, w, %s)", g.paren(over), g.text("all", "exists", "existsOne",
			"exists_one"), name,
			g.boolean(depth-1, append(vars, name, "w")))
	}
	return fmt.Sprintf("%s.%s(%s, %s)", g.paren(over), g.text("all", "exists", "exists_one"), name,
		g.boolean(depth-1, append(vars, name)))
}

func (g *celGenerator) number(depth int, vars []string) string {
	if depth <= 0 {
		return g.text("0", "1", "-1", "2", "3", "7", "2.5", "1u", "9223372036854775807", "1e3",
			"-0.0", "5u")
	}
	number := func() string { return g.operand(depth, vars, g.number) }
	str := func() string { return g.operand(depth, vars, g.str) }
	list := func() string { return g.operand(depth, vars, g.list) }
	return g.oneOf(
		number,
		func() string {
			return fmt.Sprintf("(%s %s %s)", number(), g.text("+", "-", "*", "/", "%"),
				number())
		},
		func() string { return fmt.Sprintf("size(%s)", g.oneOf(str, list)) },
		func() string { return fmt.Sprintf("%s.size()", g.paren(g.any(depth-1, vars))) },
		func() string {
			return fmt.Sprintf("%s(%s)", g.text("int", "uint", "double"), g.oneOf(number, str,
				func() string { return g.any(depth-1, vars) }))
		},
		func() string {
			return fmt.Sprintf("%s.%s(%s)", g.paren(str()), g.text("indexOf", "lastIndexOf"),
				g.text("'a'", "''", "'8'", "'a', 1", "'', 2", "'k', -1"))
		},
		func() string { return fmt.Sprintf("%s.%s()", g.paren(list()), g.text("sum", "min", "max")) },
		func() string {
			return fmt.Sprintf("%s.%s(%s)", g.paren(list()), g.text("indexOf", "lastIndexOf"),
				g.any(depth-1, vars))
		},
		func() string {
			return fmt.Sprintf("%s.%s()", g.paren(g.operand(depth, vars, g.version)), g.text("major",
				"minor", "patch"))
		},
		func() string { return fmt.Sprintf("sign(%s)", g.operand(depth, vars, g.quantity)) },
		func() string {
			return fmt.Sprintf("%s.%s()", g.paren(g.operand(depth, vars, g.quantity)),
				g.text("asInteger", "asApproximateFloat"))
		},
		func() string { return fmt.Sprintf("-%s", g.paren(number())) },
		func() string {
			return fmt.Sprintf("%s[%s]", g.paren(list()), g.text("0", "1", "-1", "1u",
				"0.0", "9"))
		},
		func() string {
			return fmt.Sprintf("timestamp('2026-03-04T05:06:07.089Z').%s()", g.text("getFullYear",
				"getMonth", "getDate", "getDayOfWeek", "getDayOfYear", "getHours", "getMilliseconds",
				"getDayOfMonth"))
		},
	)
}

func (g *celGenerator) str(depth int, vars []string) string {
	if depth <= 0 {
		return g.oneOf(
			func() string { return fmt.Sprintf("%q", pick(g.random, celStrings)) },
			func() string { return "device.driver" },
		)
	}
	str := func() string { return g.operand(depth, vars, g.str) }
	return g.oneOf(
		str,
		func() string { return fmt.Sprintf("(%s + %s)", str(), str()) },
		func() string { return fmt.Sprintf("string(%s)", g.any(depth-1, vars)) },
		func() string {
			return fmt.Sprintf("%s.%s()", g.paren(str()), g.text("lowerAscii", "upperAscii", "trim"))
		},
		func() string {
			return fmt.Sprintf("%s.substring(%s)", g.paren(str()), g.text("0", "1", "1, 2", "2, 1", "-1",
				"9"))
		},
		func() string {
			return fmt.Sprintf("%s.charAt(%s)", g.paren(str()), g.text("0", "1", "3", "9",
				"-1"))
		},
		func() string {
			return fmt.Sprintf("%s.replace(%s)", g.paren(str()), g.text("'a', 'b'", "'', '-'",
				"'a', '', 1", "'8', '88'", "'', 'x', 2"))
		},
		func() string {
			return fmt.Sprintf("%s.find(%s)", g.paren(str()), g.text("'[0-9]+'", "'^.'", "'x*'",
				"device.driver"))
		},
		func() string {
			return fmt.Sprintf("%s.join(%s)", g.paren(g.operand(depth, vars, g.list)), g.text("", "','",
				"device.driver"))
		},
		func() string { return fmt.Sprintf("strings.quote(%s)", str()) },
	)
}
