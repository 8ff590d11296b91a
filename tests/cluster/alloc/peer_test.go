package alloc

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Ours is a program of the C++ build: ninja -C build/release alloc-peer.
var peerPath = flag.String("peer", filepath.Join("..", "..", "..", "build", "release", "tests",
	"alloc-peer"),
	"the alloc-peer that answers for Galen")

// peer is one alloc-peer, which is asked line by line.
type peer struct {
	t   *testing.T
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

func startPeer(t *testing.T, subcommand string) *peer {
	t.Helper()
	command := exec.Command(*peerPath, subcommand)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatalf("start %s: %v (ninja -C build/release alloc-peer builds it)", *peerPath, err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("alloc-peer %s: %v", subcommand, err)
		}
	})
	return &peer{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

// ask sends a question and reads its answer.
func (p *peer) ask(question, answer any) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := json.Marshal(question)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		p.t.Fatalf("ask alloc-peer: %v", err)
	}
	reply, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("alloc-peer ended at %s: %v", line, err)
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		p.t.Fatalf("alloc-peer answered %s: %v", reply, err)
	}
}
