package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

// progress prints what goes on, line by line with the time since the start. On a terminal
// a line that only says "still at it" is overwritten by the next one.
type progress struct {
	mu      sync.Mutex // lines come from parts that start side by side
	start   time.Time
	passing bool
}

func newProgress() *progress { return &progress{start: time.Now()} }

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	fmt.Fprintf(os.Stderr, "%6.1f s  %s\n", time.Since(p.start).Seconds(),
		fmt.Sprintf(format, args...))
}

// pass says a line that is of interest only until the next one.
func (p *progress) pass(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	end := "\n"
	if isTerminal(os.Stderr) {
		end, p.passing = "", true
	}
	fmt.Fprintf(os.Stderr, "%6.1f s  %s%s", time.Since(p.start).Seconds(),
		fmt.Sprintf(format, args...), end)
}

func (p *progress) clear() {
	if p.passing {
		fmt.Fprint(os.Stderr, "\r\033[K")
		p.passing = false
	}
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
