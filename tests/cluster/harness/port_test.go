package main

import "testing"

func TestOnlyASocketThatListensOnThePortHoldsIt(t *testing.T) {
	const listening = "   0: 00000000:01BB 00000000:0000 0A 00000000:00000000 00:00000000 00000000" +
		"     0        0 4242 1 0000000000000000 100 0 0 10 0"
	const talking = "   1: 0100007F:01BB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000" +
		"     0        0 4243 1 0000000000000000 20 4 30 10 -1"
	if got := listener(listening, 443); got != "4242" {
		t.Errorf("listening: %q", got)
	}
	if got := listener(listening, 444); got != "" {
		t.Errorf("another port: %q", got)
	}
	if got := listener(talking, 443); got != "" {
		t.Errorf("a connection: %q", got)
	}
	if got := listener("  sl  local_address rem_address   st", 443); got != "" {
		t.Errorf("the heading: %q", got)
	}
}

func TestLinesForOnePlaceAreOneRun(t *testing.T) {
	place, line := splitPlace("@node-1 link set lo up")
	if place != "node-1" || line != "link set lo up" {
		t.Errorf("%q %q", place, line)
	}
	if place, line = splitPlace("link set lo up"); place != "" || line != "link set lo up" {
		t.Errorf("%q %q", place, line)
	}
}
