package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// A module is one of the Go modules beside this one, and which programs come out of it. They are
// separate modules because what they pin differs: two Kubernetes, etcd and containerd cannot agree
// on one set of dependencies.
type module struct {
	name     string
	dir      string
	modFile  string            // instead of go.mod; "" for go.mod
	programs map[string]string // program → package
	ldflags  string
	tags     string
	usually  string // how long a cold build takes on two cores
}

const newestVersion = "1.37"

// releases are the Kubernetes versions, by what a person calls them.
var releases = map[string]string{"1.37": "1.37.1", "1.34": "1.34.4"}

func versions() []string {
	var names []string
	for name := range releases {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func kubeModule(version string) module {
	m := module{
		name: "kubernetes-" + releases[version], dir: "kube", usually: "6 minutes",
		programs: map[string]string{"kube": "."},
		// Without these the API server calls itself v0.0.0 and kubectl complains.
		ldflags: "-X k8s.io/component-base/version.gitVersion=v" + releases[version] +
			" -X k8s.io/component-base/version.gitMajor=1" +
			" -X k8s.io/component-base/version.gitMinor=" + strings.TrimPrefix(version, "1."),
	}
	if version != newestVersion {
		m.modFile = "v" + version + ".mod"
	}
	return m
}

var (
	etcdModule = module{name: "etcd", dir: "etcd", usually: "1 minute",
		programs: map[string]string{"etcd": "."}}
	containerdModule = module{name: "containerd", dir: "containerd", usually: "90 seconds",
		tags: "no_btrfs no_devmapper no_zfs",
		programs: map[string]string{
			"containerd":              containerdPath + "containerd",
			"containerd-shim-runc-v2": containerdPath + "containerd-shim-runc-v2",
			"ctr":                     containerdPath + "ctr",
		}}
	pauseModule  = module{name: "pause", dir: "pause", programs: map[string]string{"pause": "."}}
	driverModule = module{name: "reference driver", dir: "driver", usually: "1 minute",
		programs: map[string]string{"reference-driver": "."}}
)

const containerdPath = "github.com/containerd/containerd/v2/cmd/"

// modulesFor lists what a cluster of this version needs, the quick ones first.
func modulesFor(version string) []module {
	return []module{pauseModule, etcdModule, containerdModule, kubeModule(version)}
}

func allModules() []module {
	all := modulesFor(newestVersion)
	for _, version := range versions() {
		if version != newestVersion {
			all = append(all, kubeModule(version))
		}
	}
	return append(all, driverModule)
}

// sourceDirectory is where the modules lie; ./dev says so.
func sourceDirectory() (string, error) {
	dir := os.Getenv("GALEN_CLUSTER_SOURCES")
	if dir == "" {
		return "", usageFault("start me by ./dev cluster, which says where my sources are")
	}
	return dir, nil
}

// modFiles are the module's list of dependencies and the sums of what they hold.
func (m module) modFiles() (list, sums string) {
	if m.modFile == "" {
		return "go.mod", "go.sum"
	}
	return m.modFile, strings.TrimSuffix(m.modFile, ".mod") + ".sum"
}

// hash is a name for everything that decides what comes out of a build, and where it is kept.
func (m module) hash(sources string) (string, error) {
	list, sums := m.modFiles()
	names, err := filepath.Glob(filepath.Join(sources, m.dir, "*.go"))
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	fmt.Fprintln(sum, m.name, m.programs, m.ldflags, m.tags, runtime.GOARCH, runtime.Version())
	for _, name := range append(names, filepath.Join(sources, m.dir, list),
		filepath.Join(sources, m.dir, sums)) {
		text, err := os.ReadFile(name)
		if err != nil && !(os.IsNotExist(err) && strings.HasSuffix(name, ".sum")) {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
