package stories

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	versionsFlag = flag.String("versions", "1.37,1.34", "versions of Kubernetes, one after the other")
	dirFlag      = flag.String("dir", "", "a cluster that is up, or may be, and stays up")
	fullFlag     = flag.Bool("full", false, "on 1.34 also what is there as on 1.37")
	programsFlag = flag.String("programs", "",
		"where Galen's programs are (default build/release/bin)")
)

// cluster is what all stories of a run share; stories run one at a time.
var cluster *Cluster

// The stories of one version run in a process of their own, so that the cluster comes down whatever
// they do: a panic, a deadline, a signal. These say to that process what it is.
const (
	dirVariable     = "GALEN_STORIES_DIR"
	versionVariable = "GALEN_STORIES_VERSION"
)

// storiesWithin bounds one version's stories, unless -test.timeout does. The comparison has a limit
// of its own.
var storiesWithin = 15 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	Programs = *programsFlag
	if dir := os.Getenv(dirVariable); dir != "" {
		var err error
		if cluster, err = Attach(dir, os.Getenv(versionVariable)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	if flag.Lookup("test.list").Value.String() != "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := false
	for _, version := range strings.Split(*versionsFlag, ",") {
		if err := tellVersion(ctx, version); err != nil {
			fmt.Fprintf(os.Stderr, "stories on %s: %v\n", version, err)
			failed = true
		}
		if ctx.Err() != nil {
			os.Exit(130)
		}
	}
	if failed {
		os.Exit(1)
	}
	os.Exit(0)
}

// sameOnBoth begins a story in which nothing depends on the version of Kubernetes: it is run on
// 1.37, and on 1.34 with -full only.
func sameOnBoth(t *testing.T) {
	if cluster.Is("1.34") && !*fullFlag {
		t.Skip("runs on 1.37; on 1.34 with -full")
	}
}

// tellVersion runs all stories on a cluster of that version, which is gone afterwards.
func tellVersion(ctx context.Context, version string) (err error) {
	// Both are no-ops as a rule; a story must not wait for a compiler, nor take its time for its own.
	if err := prepare(ctx, version); err != nil {
		return err
	}
	dir := *dirFlag
	if dir == "" {
		place, fault := os.MkdirTemp("", "galen-")
		if fault != nil {
			return fault
		}
		dir = filepath.Join(place, ownPlace)
		// Also after a failed or interrupted up. What does not come down is reported, and keeps its
		// directory, from which it can be ended.
		defer func() {
			if fault := Down(dir); fault != nil {
				err = errors.Join(err, fault)
				return
			}
			err = errors.Join(err, os.RemoveAll(place))
		}()
	}
	if err := os.RemoveAll(logsOf(dir, version)); err != nil {
		return err
	}
	begin := time.Now()
	c, err := Up(ctx, dir, Usual(version))
	if err != nil {
		return err
	}
	fmt.Printf("Kubernetes %s is up in %s after %.1f s\n", version, dir, time.Since(begin).Seconds())
	if err := runStories(ctx, dir, version); err != nil {
		return errors.Join(fmt.Errorf("%w; logs are in %s", err, c.Logs), c.keepLogs())
	}
	return nil
}

// prepare builds what Kubernetes and the reference driver are made of, and wants Galen's programs.
func prepare(ctx context.Context, version string) error {
	for _, name := range []string{"galen", "galen-agent", "galen-driver"} {
		if Program(name) == "" {
			return fmt.Errorf("there is no program %s: run ./dev build, or name another place with "+
				"-programs", name)
		}
	}
	command := door(ctx, "build", "--all", "--version", version)
	command.Stderr = os.Stderr
	return command.Run()
}

func runStories(ctx context.Context, dir, version string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := append(os.Args[1:], "-test.v=true")
	if flag.Lookup("test.timeout").Value.String() == "0s" {
		args = append(args, "-test.timeout="+storiesWithin.String())
	}
	child := gentle(exec.CommandContext(ctx, self, args...))
	child.Env = append(os.Environ(), dirVariable+"="+dir, versionVariable+"="+version)
	child.Stderr = os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	output, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	count, failures, told := retell(output, os.Stdout)
	err = errors.Join(told, child.Wait())
	for _, line := range failures {
		fmt.Println(line)
	}
	fmt.Printf("Kubernetes %s: %d passed, %d failed, %d not for this version\n", version,
		count["PASS"], count["FAIL"], count["SKIP"])
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case err == nil && count["PASS"] == 0:
		return errors.New("no story ran")
	}
	return err
}

var verdict = regexp.MustCompile(`^--- (PASS|FAIL|SKIP): Test(\S+) \((.*)s\)$`)

// said is the first line of what a story logs or fails with; what its programs wrote is below it.
var said = regexp.MustCompile(`^    \w+\.go:\d+: `)

// retell prints a story's verdict as a sentence, and what a story logs as it is. Counts verdicts,
// and returns what failed with what it said, to be read where the output ends.
// What comes is read to its end in every case: a child that writes to nobody would hang.
func retell(from io.Reader, to io.Writer) (map[string]int, []string, error) {
	count := map[string]int{}
	var failures, story []string
	begin := time.Now()
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if found := verdict.FindStringSubmatch(line); found != nil {
			count[found[1]]++
			if found[1] == "FAIL" {
				failures = append(append(failures, "FAILED "+sentence(found[2])), story...)
			}
			story = nil
			fmt.Fprintf(to, "%6.1f s  %-5s %s (%s s)\n", time.Since(begin).Seconds(),
				map[string]string{"PASS": "ok", "FAIL": "FAILED", "SKIP": "-"}[found[1]],
				sentence(found[2]), found[3])
		} else if !strings.HasPrefix(line, "=== ") && line != "PASS" && line != "FAIL" {
			fmt.Fprintln(to, line)
		}
		if said.MatchString(line) {
			story = append(story, line)
		}
	}
	err := lines.Err()
	if err != nil {
		err = fmt.Errorf("verdicts after a line of more than 1 MiB are not counted: %w", err)
		_, _ = io.Copy(to, from)
	}
	return count, failures, err
}

var word = regexp.MustCompile(`[A-Z][a-z]*|[0-9]+`)

// sentence: AClaimIsPrepared -> A claim is prepared. Words of Kubernetes keep their capitals.
func sentence(name string) string {
	var words []string
	for _, each := range word.FindAllString(name, -1) {
		switch each {
		case "Pod", "Pods":
			words = append(words, each)
		case "Cdi", "Api", "Uid", "Gpu":
			words = append(words, strings.ToUpper(each))
		default:
			words = append(words, strings.ToLower(each))
		}
	}
	text := strings.Join(words, " ")
	return strings.ToUpper(text[:1]) + text[1:]
}
