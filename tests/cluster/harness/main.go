// Command harness runs a real Kubernetes on this machine, inside namespaces of its own, and takes
// it away again without a trace: `./dev cluster` is its door. It needs the standard library only,
// so that it starts at once; what it runs are the sibling modules, which it builds and keeps.
//
// A file is one noun. cluster.go knows what a cluster consists of, up.go and down.go are its two
// ways, node.go and control_plane.go say which programs run where and with what.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// verbs are the subcommands. Those that a person never types start with an underscore: they are
// this program as it runs inside a namespace.
var verbs = map[string]func(ctx context.Context, args []string) error{
	"up":       up,
	"down":     down,
	"status":   status,
	"kubectl":  kubectl,
	"logs":     logs,
	"exec":     execInNode,
	"driver":   driver,
	"image":    image,
	"start":    startParts,
	"stop":     stopParts,
	"build":    build,
	"selftest": selftest,
	"help":     help,
	"_hold":    hold,
	"_enter":   enter,
	"_probe":   func(context.Context, []string) error { return nil },
}

// The main goroutine keeps the main thread. A process that becomes another program from any other
// thread looks dead for a moment, and whoever watches it then believes so.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) < 2 {
		os.Args = append(os.Args, "help")
	}
	verb, args := os.Args[1], os.Args[2:]
	if verb == "-h" || verb == "--help" {
		verb = "help"
	}
	run, known := verbs[verb]
	if !known {
		_ = help(context.Background(), nil)
		os.Exit(printError(usageFault("no command %q", verb)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(printError(run(ctx, args)))
}

func help(context.Context, []string) error {
	fmt.Print(`./dev cluster COMMAND: a real Kubernetes on this machine, in namespaces of its own

  up [--version 1.37|1.34] [--nodes N] [--feature-gates A=true,…] [--runtime-config a/v1=true,…]
                        start it; ends when every node is Ready. Builds what is missing first
  down                  end it and leave nothing behind
  status                processes, nodes, versions, how to reach it
  kubectl ARGS…         the cluster's own kubectl, as administrator
  logs [PART] [-f]      what a part wrote; without PART: which there are
  exec NODE -- CMD…     run CMD where that node's kubelet runs: its network, its /var/lib/kubelet
  driver NODE [ARGS…]   run the reference DRA driver there (--help tells its flags)
  image FILE.tar        give an image to every node
  stop [--kill] PART…   end a part or a whole node: kubelet crashes, node failures
  start PART…           and start it again, with what it had on disk
  build [--version …]   build only; --all builds every version and the reference driver
  selftest [NAME…]      try the harness's own promises on this machine
  compare               measure the kubelet's health field and Galen's on the same Pods, in
                        about half an hour; writes docs/compare-kubelet.md

A PART is etcd, apiserver, controller-manager, scheduler, NODE/containerd, NODE/kubelet or NODE;
nodes are node-1, node-2, …. Every command takes --dir D for a cluster beside the default one;
$GALEN_CLUSTER_DIR does the same.
`)
	return nil
}
