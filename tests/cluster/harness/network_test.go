package main

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// As ip-route(8) prints them: a tunnel's own table, a type before the destination, one address.
const someRoutes = `default via 192.0.2.1 dev eth0
0.0.0.0/1 via 10.8.0.1 dev tun0
100.64.3.0/24 dev tailscale0 table 52
100.100.100.100 dev tailscale0 table 52
blackhole 100.64.8.0/21
local 127.0.0.0/8 dev lo table local proto kernel scope host src 127.0.0.1
broadcast 192.0.2.255 dev eth0 table local proto kernel scope link src 192.0.2.7
unreachable default dev lo metric 4294967295
`

func TestRoutesToNetworksAreReadAndWaysOutAreNone(t *testing.T) {
	var want []netip.Prefix
	for _, text := range []string{"100.64.3.0/24", "100.100.100.100/32", "100.64.8.0/21",
		"127.0.0.0/8", "192.0.2.255/32"} {
		want = append(want, netip.MustParsePrefix(text))
	}
	if got := destinations(someRoutes); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := destinations(""); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestANetworkThatAnythingLeadsToIsNotTaken(t *testing.T) {
	for _, each := range []struct {
		from   int
		routes string
		want   string
	}{
		{3, "", "100.64.3"},
		{3, someRoutes, "100.64.4"},
		{9, someRoutes, "100.64.16"},
		{255, "100.64.255.7 dev x\n100.64.0.0/31 dev y", "100.64.1"},
		{5, "100.64.0.0/10 dev tailscale0 table 52", "198.18.5"},
		{700, "", "100.64.188"},
	} {
		got, err := firstFree(each.from, destinations(each.routes))
		if err != nil || network(got) != each.want {
			t.Errorf("from %d with %q: %s, %v; wanted %s", each.from, each.routes, network(got), err,
				each.want)
		}
	}
	_, err := firstFree(0, destinations("100.64.0.0/10 dev x\n198.18.0.0/15 dev y"))
	if err == nil || !strings.Contains(err.Error(), "100.64.0.0/16 and 198.18.0.0/16") {
		t.Errorf("with none free: %v", err)
	}
}
