package alloc

import (
	"fmt"
	"strings"
)

// Random lists, maps, quantities, versions and optionals.

func (g *celGenerator) list(depth int, vars []string) string {
	if depth <= 0 {
		return g.text("[]", "[1, 2, 3]", "['a', 'gpu']", "[true]", "[1.0]", "[[1], [2, 3]]",
			"['b', 'a', 'c']", "[3, 1, 2, 1]")
	}
	list := func() string { return g.operand(depth, vars, g.list) }
	return g.oneOf(
		list,
		func() string {
			return "[" + strings.Join(randomList(g.random, func() string {
				return g.number(depth-1,
					vars)
			}), ", ") + "]"
		},
		func() string {
			return "[" + strings.Join(randomList(g.random, func() string {
				return g.str(depth-1,
					vars)
			}), ", ") + "]"
		},
		func() string {
			return "[" + strings.Join(randomList(g.random, func() string {
				return g.any(depth-1,
					vars)
			}), ", ") + "]"
		},
		func() string {
			return fmt.Sprintf("[?%s, %s]", g.optional(depth-1, vars), g.any(depth-1,
				vars))
		},
		func() string { return fmt.Sprintf("(%s + %s)", list(), list()) },
		func() string {
			return fmt.Sprintf("%s.map(z, %s)", g.paren(list()), g.any(depth-1,
				append(vars, "z")))
		},
		func() string {
			return fmt.Sprintf("%s.map(z, %s, %s)", g.paren(list()), g.boolean(depth-1, append(vars,
				"z")), g.any(depth-1, append(vars, "z")))
		},
		func() string {
			return fmt.Sprintf("%s.filter(z, %s)", g.paren(list()), g.boolean(depth-1, append(vars, "z")))
		},
		func() string {
			return fmt.Sprintf("%s.transformList(z, w, %s)", g.paren(list()), g.any(depth-1, append(vars,
				"z", "w")))
		},
		func() string {
			return fmt.Sprintf("%s.%s()", g.paren(list()), g.text("sort", "distinct", "reverse", "flatten"))
		},
		func() string {
			return fmt.Sprintf("%s.sortBy(z, %s)", g.paren(list()), g.any(depth-1, append(vars, "z")))
		},
		func() string {
			return fmt.Sprintf("%s.slice(%s)", g.paren(list()), g.text("0, 1", "1, 2", "0, 9", "1, 1",
				"-1, 1"))
		},
		func() string { return fmt.Sprintf("lists.range(%s)", g.text("0", "3", "-1")) },
		func() string {
			return fmt.Sprintf("%s.split(%s)", g.paren(g.str(depth-1, vars)), g.text("','", "''",
				"',', 2", "'a'", "'x', 0"))
		},
		func() string {
			return fmt.Sprintf("%s.findAll(%s)", g.paren(g.str(depth-1, vars)), g.text("'[a-z]'", "'x*'",
				"'[0-9]', 1"))
		},
		func() string {
			return fmt.Sprintf("%s.flatten(%s)", g.paren(list()), g.text("0", "1", "2",
				"-1"))
		},
	)
}

func (g *celGenerator) mapping(depth int, vars []string) string {
	if depth <= 0 {
		return g.text("{}", "{'a': 1}", "{'gpu': 'x', 'a': 'y'}", "{1: true}", "{1u: 2}", "{true: 1.5}")
	}
	return g.oneOf(
		func() string { return fmt.Sprintf("{%s: %s}", g.str(depth-1, vars), g.any(depth-1, vars)) },
		func() string { return fmt.Sprintf("{%s: %s}", g.number(depth-1, vars), g.any(depth-1, vars)) },
		func() string { return fmt.Sprintf("{?'a': %s}", g.optional(depth-1, vars)) },
		func() string {
			return fmt.Sprintf("%s.transformMap(z, w, %s)", g.paren(g.list(depth-1, vars)),
				g.any(depth-1, append(vars, "z", "w")))
		},
		func() string {
			return g.text("['a', 'gpu']", "[3, 1, 1]",
				"device.attributes['d.io'].ss") + ".transformMapEntry(z, w, {w: z})"
		},
		func() string {
			return g.text("device.attributes['d.io']", "device.capacity['d.io']", "device.attributes")
		},
	)
}

func (g *celGenerator) quantity(depth int, vars []string) string {
	if depth <= 0 || g.random.Intn(3) == 0 {
		return g.oneOf(
			func() string { return fmt.Sprintf("quantity(%q)", pick(g.random, celQuantities)) },
			func() string {
				return fmt.Sprintf("device.capacity[%q].%s", pick(g.random, celDomains), g.text("mem", "cores"))
			},
			func() string { return fmt.Sprintf("quantity(%q)", pick(g.random, celStrings)) },
		)
	}
	return fmt.Sprintf("%s.%s(%s)", g.paren(g.quantity(depth-1, vars)), g.text("add", "sub"),
		g.oneOf(func() string { return g.quantity(depth-1, vars) },
			func() string { return g.number(depth-1, vars) }))
}

func (g *celGenerator) version(depth int, vars []string) string {
	return g.oneOf(
		func() string { return fmt.Sprintf("semver(%q)", pick(g.random, celVersions)) },
		func() string { return fmt.Sprintf("semver(%q, true)", g.text("v1.2", "01.2.3", "1", "x")) },
		func() string { return fmt.Sprintf("device.attributes[%q].v", pick(g.random, celDomains)) },
		func() string { return fmt.Sprintf("semver(%s)", g.str(depth-1, vars)) },
	)
}

func (g *celGenerator) optional(depth int, vars []string) string {
	if depth <= 0 {
		return g.text("optional.none()", "optional.of(1)", "device.attributes['d.io'].?i",
			"device.attributes[?'nosuch']",
			"device.attributes['d.io'][?'b']", "device.capacity['d.io'].?mem", "device.attributes.?nosuch.x")
	}
	return g.oneOf(
		func() string { return fmt.Sprintf("optional.of(%s)", g.any(depth-1, vars)) },
		func() string { return fmt.Sprintf("optional.ofNonZeroValue(%s)", g.any(depth-1, vars)) },
		func() string {
			return fmt.Sprintf("%s.or(%s)", g.optional(depth-1, vars), g.optional(depth-1,
				vars))
		},
		func() string {
			return fmt.Sprintf("%s.optMap(o, %s)", g.optional(depth-1, vars), g.any(depth-1, append(vars,
				"o")))
		},
		func() string {
			return fmt.Sprintf("%s.optFlatMap(o, %s)", g.optional(depth-1, vars), g.optional(depth-1,
				append(vars, "o")))
		},
		func() string {
			return fmt.Sprintf("%s[?%s]", g.paren(g.list(depth-1, vars)), g.text("0", "1", "9", "-1"))
		},
		func() string {
			return fmt.Sprintf("%s[?%s]", g.paren(g.mapping(depth-1, vars)), g.text("'a'", "1", "'gpu'"))
		},
		func() string { return fmt.Sprintf("%s.?a", g.paren(g.mapping(depth-1, vars))) },
		func() string {
			return fmt.Sprintf("%s.%s()", g.paren(g.list(depth-1, vars)), g.text("first",
				"last"))
		},
	)
}
