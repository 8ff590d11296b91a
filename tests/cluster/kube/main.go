// Command kube is a whole Kubernetes in one program: each part is a subcommand. One program links
// the code that the parts share once, which is most of it: a third of the size of five programs,
// and of the time to link them.
//
// Kubernetes is a module dependency here and used as a library. go.mod pins the newest release that
// Galen is held against, v1.34.mod the oldest; `go build -modfile` chooses, the source is the same.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// parts makes a part's command when it is asked for: making one registers its flags and metrics in
// places that are the process's own, so that making two would clash.
var parts = map[string]func() *cobra.Command{
	"apiserver":          apiserver.NewAPIServerCommand,
	"controller-manager": controllermanager.NewControllerManagerCommand,
	"scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubelet": func() *cobra.Command {
		return kubelet.NewKubeletCommand(context.Background())
	},
}

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	name := os.Args[1]
	// A part parses the command line by itself and must not see its own name there.
	os.Args = append(os.Args[:1], os.Args[2:]...)
	if name == "kubectl" {
		// kubectl prints what went wrong in words of its own instead of the flags' usage.
		kubectlutil.CheckErr(cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()))
		return
	}
	if parts[name] == nil {
		usage()
	}
	os.Exit(cli.Run(parts[name]()))
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: kube apiserver|controller-manager|scheduler|kubelet|kubectl …")
	os.Exit(64)
}
