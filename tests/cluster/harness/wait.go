package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pollEvery is how often a state of the world that has no watch is looked at. Looking costs
// microseconds, and half of it is added to every wait.
const pollEvery = 25 * time.Millisecond

// until looks again and again until done says so. An error from done ends the wait at once; the
// limit ends it with a sentence that names what was waited for.
func until(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	deadline := time.Now().Add(limit)
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not after %v", what, limit)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: interrupted", what)
		case <-time.After(pollEvery):
		}
	}
}

// together runs all at the same time and gives every error.
func together(runs ...func() error) error {
	faults := make([]error, len(runs))
	var group sync.WaitGroup
	for i, run := range runs {
		group.Add(1)
		go func() {
			defer group.Done()
			faults[i] = run()
		}()
	}
	group.Wait()
	return errors.Join(faults...)
}
