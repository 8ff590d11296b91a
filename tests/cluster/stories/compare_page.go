//go:build compare

package stories

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// A comparison collects what is written; parts of it come side by side. Everything is done twice:
// our agent changes Pods, and the kubelet looks at a Pod that changed.
type comparison struct {
	mu      sync.Mutex
	alone   bool   // our agent does not run yet
	kubelet string // the version that the node reports

	aloneChanges map[string][]time.Duration // by the spacing's name
	figures      table
	defects      table
	reproduced   map[string]bool // of defects, by their row: whether the field showed it
	goals        []goal
}

// A goal is what we promise of this page, and what came of it.
type goal struct {
	what, wanted, measured string
	met                    bool
}

// goal puts one on the page, met or not. One that is missed fails the run only when the page has
// been written: a page from which bad news keeps away is worth nothing. Nothing is promised of the
// kubelet alone.
func (c *comparison) goal(what, wanted, measured string, met bool) {
	if c.alone {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.goals = append(c.goals, goal{what, wanted, measured, met})
}

// goalRows are sorted by what they are of: some are measured side by side.
func (c *comparison) goalRows() string {
	slices.SortStableFunc(c.goals, func(a, b goal) int { return strings.Compare(a.what, b.what) })
	text := ""
	for _, g := range c.goals {
		met := "yes"
		if !g.met {
			met = "**no**"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s |\n", g.what, g.wanted, g.measured, met)
	}
	return text
}

// A table has its rows by name, in the order in which they are printed.
type table struct {
	order []string
	rows  map[string]*[3]string // the kubelet alone, the kubelet beside us, we
}

func (c *comparison) put(where *table, row, field, ours string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if where.rows == nil {
		where.rows = map[string]*[3]string{}
	}
	if where.rows[row] == nil {
		where.rows[row] = &[3]string{}
		where.order = append(where.order, row)
	}
	cells := where.rows[row]
	if c.alone {
		cells[0] = field
		fmt.Fprintf(os.Stderr, "  %s: the kubelet alone: %s\n", row, field)
		return
	}
	cells[1], cells[2] = field, ours
	fmt.Fprintf(os.Stderr, "  %s: the kubelet: %s; we: %s\n", row, field, ours)
}

func (c *comparison) figure(what, field, ours string) { c.put(&c.figures, what, field, ours) }

// A defect, by its number on the page, which it has over all tables: what was done, what the field
// showed of it, and what we said.
// shown is whether the field has it here; a row that it has in neither run is marked.
func (c *comparison) defect(number int, what, done string, shown bool, field, ours string) {
	row := fmt.Sprintf("%2d | %s | %s", number, what, done)
	c.put(&c.defects, row, field, ours)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reproduced == nil {
		c.reproduced = map[string]bool{}
	}
	c.reproduced[row] = c.reproduced[row] || shown
}

// markdown are the rows that are wanted, in their order.
func (w *table) markdown(wanted func(row string) bool) string {
	text := ""
	for _, row := range w.order {
		if cells := w.rows[row]; wanted(row) {
			text += fmt.Sprintf("| %s | %s | %s | %s |\n", row, cells[0], cells[1], cells[2])
		}
	}
	return text
}

func (c *comparison) page() string {
	slices.Sort(c.defects.order)
	all := func(string) bool { return true }
	shown := func(row string) bool { return c.reproduced[row] }
	absent := func(row string) bool { return !c.reproduced[row] }
	return `# The kubelet's field and ours, side by side

Written by ` + "`./dev cluster compare`" + ` from one run on kubelet ` + c.kubelet + `,
its goals met or not. Both listen to the same driver, Kubernetes' own Go helper
(` + "`tests/cluster/driver`" + `), and report on the same Pods: the kubelet in
` + "`allocatedResourcesStatus`" + `, our agent, installed from ` + "`deploy/galen.yaml`" + `,
in its condition and annotation. Times are from what was done to the driver to the watch event of
the API server that shows it. One machine, shared with other work: compare the columns, not the
runs. A single change comes so long after the one before was shown by both as its row says. Their
numbers, alone and beside our agent, are 100 and 200 where they come 0.05 to 0.5 s apart, 400 and
400 for 0.05 to 1.5 s, 30 and 30 for 3 to 4.5 s. What is done to several drivers is given as the
median, with the least and the most.

With seconds between two changes the kubelet's field is as quick as our condition: a change wakes
the kubelet, which writes at once. It is slow where a change follows within a second of the one
before, because the kubelet then waits for its next relist of containers, once a second. At 0.05 to
1.5 s about half of the changes wait: there chance decides whether the median is a quick one or
not, and the mean is what is compared. With seconds between them both sides write to one object at
the same time, and the API server makes the second write once more, which takes some milliseconds:
the kubelet's field is level with alone only where we are not first.

Each defect has one number on this page, whichever table it is in.

Everything is done twice, first without our agent: beside it the kubelet's own field is right sooner
where nothing but a change of the Pod makes the kubelet look again, because our annotation is such a
change. For the same reason the annotation of changes in quick succession follows their condition
only when the devices of the Pod have rested: written at once, it would make the kubelet's next
field wait for a relist.

## Figures
| what was done | the field, kubelet alone | the field, beside our agent | we |
|---|---|---|---|
` + c.figures.markdown(all) + `
## Goals
What we promise of the figures above. Shares are of the kubelet's field, alone or beside us,
whichever was quicker.

| what | wanted | measured | met |
|---|---|---|---|
` + c.goalRows() + `
## Known defects of the field, each on a running node
| | defect | what was done | the field, kubelet alone | the field, beside our agent | we |
|---|---|---|---|---|---|
` + c.defects.markdown(shown) + `
## Looked for, and not seen in this run
What was done is what brings the defect about by its report; the field was right all the same.

| | defect | what was done | the field, kubelet alone | the field, beside our agent | we |
|---|---|---|---|---|---|
` + c.defects.markdown(absent) + unshown
}

const unshown = `
## Not tried, and why
| | defect | why |
|---|---|---|
| 1 | claims from templates had no health in 1.34's first code | mended in 1.37; on 1.34.4 the field stays empty for every claim, which the stories of ` + "`./dev test cluster`" + ` hold |
| 5 | a channel of 100 entries drops updates | it fills while the kubelet is busy with the Pods of a report: over a hundred on one driver, more than this node runs. With one Pod the bursts above lost nothing on either side |
| 9, 10 | evictions by taints pass over extended resources, and an empty selector evicts all | the eviction controller's, not the kubelet's; nothing of ours stands beside it |
| 11 | errors every 5 s for drivers without health | mended in 1.37 |
`
