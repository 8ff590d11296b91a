package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options are what a person may choose of a cluster.
type options struct {
	Version       string `json:"version"`
	Nodes         int    `json:"nodes"`
	FeatureGates  string `json:"featureGates,omitempty"`
	RuntimeConfig string `json:"runtimeConfig,omitempty"`
}

// nodesMax: a node takes about 170 MiB and one byte of the cluster's network.
const nodesMax = 32

func (o options) check() error {
	var wrong []string
	if !slices.Contains(versions(), o.Version) {
		wrong = append(wrong, fmt.Sprintf("--version %s: there are %s", o.Version,
			strings.Join(versions(), " and ")))
	}
	if o.Nodes < 1 || o.Nodes > nodesMax {
		wrong = append(wrong, fmt.Sprintf("--nodes %d: must be 1 to %d", o.Nodes, nodesMax))
	}
	for _, pair := range strings.Split(o.FeatureGates, ",") {
		if _, value, _ := strings.Cut(pair, "="); pair != "" && value != "true" && value != "false" {
			wrong = append(wrong, fmt.Sprintf("--feature-gates %s: write NAME=true or NAME=false", pair))
		}
	}
	if len(wrong) > 0 {
		return usageFault("%s", strings.Join(wrong, "; "))
	}
	return nil
}

// commandLine takes a verb's flags apart; --dir is everybody's. Words that are no flags are given
// back; from "--" on everything is.
type commandLine struct {
	flags *flag.FlagSet
	dir   *string
}

func newCommandLine(verb string) commandLine {
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return commandLine{flags, flags.String("dir", defaultDirectory(), "")}
}

// parse also takes flags that follow a word, as people write them.
func (c commandLine) parse(args []string) (cl *cluster, words []string, err error) {
	for {
		if err := c.flags.Parse(args); err != nil {
			return nil, nil, usageFault("%s: %v; see ./dev cluster help", c.flags.Name(), err)
		}
		rest := c.flags.Args()
		if len(rest) == 0 {
			break
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			words = append(words, rest...)
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	cl, err = clusterAt(*c.dir)
	return cl, words, err
}

func defaultDirectory() string {
	if dir := os.Getenv("GALEN_CLUSTER_DIR"); dir != "" {
		return dir
	}
	return fmt.Sprintf("/tmp/galen-cluster-%d", os.Getuid())
}

// leadingDir takes a --dir that stands first from the words of a verb that passes all others on.
func leadingDir(args []string) (*cluster, []string, error) {
	dir := defaultDirectory()
	if len(args) > 1 && (args[0] == "--dir" || args[0] == "-dir") {
		dir, args = args[1], args[2:]
	} else if len(args) > 0 && strings.HasPrefix(args[0], "--dir=") {
		dir, args = strings.TrimPrefix(args[0], "--dir="), args[1:]
	}
	cl, err := clusterAt(dir)
	return cl, args, err
}

// cacheDirectory is where built programs and images live, for all clusters of this user.
func cacheDirectory() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a place for what is built: %w", err)
	}
	return filepath.Join(base, "galen", "cluster"), nil
}

func build(ctx context.Context, args []string) error {
	line := newCommandLine("build")
	version := line.flags.String("version", newestVersion, "")
	all := line.flags.Bool("all", false, "")
	if _, _, err := line.parse(args); err != nil {
		return err
	}
	if err := (options{Version: *version, Nodes: 1}).check(); err != nil {
		return err
	}
	wanted := modulesFor(*version)
	if *all {
		wanted = allModules()
	}
	_, err := buildModules(ctx, newProgress(), wanted)
	return err
}
