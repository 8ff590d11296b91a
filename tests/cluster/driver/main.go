// Command reference-driver is a DRA driver as most are written: in Go, on Kubernetes' own helper.
// Its devices are names. What a test needs of it is that it misbehaves on demand: a socket takes
// commands (control.go lists them) that change health, silence the stream or spoil answers.
//
//	reference-driver [flags]               serve, beside a kubelet
//	reference-driver tell SOCKET WORD…     give a command to one that serves
//	reference-driver --register …          announce another driver, with versions of one's choice
//	reference-driver --plugin …            be a device plugin instead, of a resource of one's choice
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
)

// options are the flags.
type options struct {
	name, node, kubeconfig, root, cdi, control, health, instance string

	register, versions, uuids, plugin string
	devices                           int
	single                            bool
	timeout                           time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "reference-driver: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 1 && args[0] == "tell" {
		return tell(args[1], strings.Join(args[2:], " "))
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.register != "" {
		return register(ctx, o)
	}
	if o.plugin != "" {
		return servePlugin(ctx, o)
	}
	config, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig %q: %w", o.kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return serve(ctx, o, client)
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("reference-driver", flag.ContinueOnError)
	flags.StringVar(&o.name, "name", "ref.example.com", "the driver's name")
	flags.StringVar(&o.node, "node", os.Getenv("NODE_NAME"), "the node it serves")
	flags.StringVar(&o.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "for the API server")
	flags.StringVar(&o.root, "kubelet-root", "/var/lib/kubelet", "where plugins and registry are")
	flags.StringVar(&o.cdi, "cdi", "/var/run/cdi", "where specifications of devices are read from")
	flags.StringVar(&o.control, "control", "", "the socket for commands (default /run/NAME.sock)")
	flags.StringVar(&o.health, "health", "v1,v1alpha1", "health services to offer, or none")
	flags.StringVar(&o.instance, "instance", "", "this instance's id, for rolling updates")
	flags.StringVar(&o.register, "register", "",
		"DRIVER=SOCKET: be no driver, register one that serves there")
	flags.StringVar(&o.plugin, "plugin", "",
		"RESOURCE=ID,ID: be no driver, but a device plugin of these devices")
	flags.StringVar(&o.versions, "versions", "", "with --register: the services to announce")
	flags.BoolVar(&o.single, "single", false, "serve one health stream only, the newest")
	flags.IntVar(&o.devices, "devices", 4, "how many devices, dev-0 and on")
	flags.StringVar(&o.uuids, "uuids", "", "begin of devices' attribute uuid, which their numbers end")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "how long a health report holds")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.node == "" {
		return o, errors.New("--node or $NODE_NAME must name the node")
	}
	if o.control == "" {
		o.control = "/run/" + o.name + o.instance + ".sock"
	}
	return o, nil
}

func serve(ctx context.Context, o options, client kubernetes.Interface) error {
	data := filepath.Join(o.root, "plugins", o.name)
	if err := os.MkdirAll(data, 0o755); err != nil {
		return err
	}
	board := newBoard(o)
	p := &plugin{board: board, specs: specs{dir: o.cdi, driver: o.name}}
	helper, err := kubeletplugin.Start(ctx, p, helperOptions(o, client, data)...)
	if err != nil {
		return fmt.Errorf("start beside the kubelet: %w", err)
	}
	defer helper.Stop()
	publish := func() error { return helper.PublishResources(ctx, board.resources()) }
	if err := publish(); err != nil {
		return fmt.Errorf("publish devices: %w", err)
	}
	registered := func() bool {
		status := helper.RegistrationStatus()
		return status != nil && status.PluginRegistered
	}
	return listen(ctx, o.control, commander{board, publish, registered})
}

func helperOptions(o options, client kubernetes.Interface, data string) []kubeletplugin.Option {
	all := []kubeletplugin.Option{
		kubeletplugin.DriverName(o.name), kubeletplugin.NodeName(o.node),
		kubeletplugin.KubeClient(client), kubeletplugin.PluginDataDirectoryPath(data),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(o.root, "plugins_registry")),
		kubeletplugin.HealthV1(offers(o.health, "v1")),
		kubeletplugin.HealthV1alpha1(offers(o.health, "v1alpha1")),
		kubeletplugin.HealthService(o.health != "none"),
	}
	if o.instance != "" {
		all = append(all, kubeletplugin.RollingUpdate(types.UID(o.instance)))
	}
	return all
}

func offers(health, version string) bool {
	for _, word := range strings.Split(health, ",") {
		if word == version {
			return true
		}
	}
	return false
}
