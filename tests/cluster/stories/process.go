package stories

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A Process is a program that a story runs on a node, as its own: in the node's network, /var/lib
// and /run. It ends with the story at the latest.
type Process struct {
	Name    string
	PID     int // the program's own
	LogFile string
	node    string
	cluster *Cluster
	command *exec.Cmd
	ended   chan struct{} // closed when it has ended
}

// started counts programs, for the names of their logs.
var started atomic.Int32

// Run starts a program on a node ("node-1"). A name without a slash is one of build/release/bin if
// it is there, else one of the machine's. $NODE_NAME and $KUBECONFIG are set, standard output and
// error go to LogFile.
func (c *Cluster) Run(t testing.TB, node string, program string, args ...string) *Process {
	t.Helper()
	name := filepath.Base(program)
	if built := Program(program); built != "" {
		program = built
	}
	command := append([]string{node, "--", program}, args...)
	return c.start(t, node, name, c.harness(t.Context(), "exec", command...))
}

// Programs is where Galen's own programs are, "" for build/release/bin.
var Programs string

// Program is the path of one of Galen's own programs as built, "" when there is none of that name.
func Program(name string) string {
	place := Programs
	if place == "" {
		place = filepath.Join(Root(), "build", "release", "bin")
	}
	path := filepath.Join(place, name)
	if info, err := os.Stat(path); strings.Contains(name, "/") || err != nil || info.IsDir() {
		return ""
	}
	return path
}

func (c *Cluster) start(t testing.TB, node, name string, command *exec.Cmd) *Process {
	t.Helper()
	story := strings.NewReplacer("/", "-", "Test", "").Replace(t.Name())
	logs := filepath.Join(c.Logs, fmt.Sprintf("%s-%s-%d.log", story, name, started.Add(1)))
	file, err := os.Create(logs)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Not the test's context: a program lives until the story's cleanup has undone what needs it.
	p := &Process{Name: name, LogFile: logs, node: node, cluster: c, ended: make(chan struct{}),
		command: exec.Command(command.Path, command.Args[1:]...)}
	p.command.Env, p.command.Stdout, p.command.Stderr = command.Env, file, file
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.command.Start(); err != nil {
		t.Fatalf("start %s on %s: %v", name, node, err)
	}
	p.PID = p.command.Process.Pid
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	end := c.endOf(t)
	end.programs = append(end.programs, p)
	return p
}

// A storysEnd is what a story leaves to be put away, in this order however it came about:
// namespaces with their Pods, what is waited for, programs. Pods need the driver that prepared
// their claims.
type storysEnd struct {
	namespaces []string
	waits      []func()
	programs   []*Process
}

// ends are those of the stories that run; parts of one may run side by side.
var (
	endsMu sync.Mutex
	ends   = map[testing.TB]*storysEnd{}
)

func (c *Cluster) endOf(t testing.TB) *storysEnd {
	endsMu.Lock()
	defer endsMu.Unlock()
	if ends[t] == nil {
		ends[t] = &storysEnd{}
		t.Cleanup(func() { c.putAway(t) })
	}
	return ends[t]
}

func (c *Cluster) putAway(t testing.TB) {
	end := c.endOf(t)
	// Also when something before them gives up.
	defer func() {
		for _, p := range slices.Backward(end.programs) {
			if t.Failed() {
				t.Logf("%s wrote %s; its end:\n%s", p.Name, p.LogFile, tail(p.Log(), 15))
			}
			p.Stop()
		}
	}()
	for _, ns := range end.namespaces {
		c.clearNamespace(t, ns)
	}
	for _, wait := range end.waits {
		wait()
	}
}

// BeforeProgramsEnd calls wait in the story's end, when its Pods are gone and its programs still
// run.
func (c *Cluster) BeforeProgramsEnd(t testing.TB, wait func()) {
	end := c.endOf(t)
	end.waits = append(end.waits, wait)
}

// Signal reaches the process if it still runs.
func (p *Process) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Kill ends it without a warning, and returns when it is gone.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// stopWithin is what a program gets that is asked to end: ours drain for 5 s at most.
const stopWithin = 10 * time.Second

// Stop asks it to end and gives back its exit code; -1 when it had to be killed.
func (p *Process) Stop() int {
	p.Signal(syscall.SIGTERM)
	code, _ := p.Wait(stopWithin)
	if code < 0 {
		p.Kill()
	}
	return code
}

// Wait gives its exit code once it has ended; -1 and false when it has not within the limit.
func (p *Process) Wait(limit time.Duration) (code int, ended bool) {
	select {
	case <-p.ended:
		return p.command.ProcessState.ExitCode(), true
	case <-time.After(limit):
		return -1, false
	}
}

// Running: it has not ended.
func (p *Process) Running() bool {
	_, ended := p.Wait(0)
	return !ended
}

// Log is what it has written so far.
func (p *Process) Log() string {
	text, _ := os.ReadFile(p.LogFile)
	return string(text)
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Output runs a program on a node to its end; the story fails when its exit code is not zero.
func (c *Cluster) Output(t testing.TB, node string, program string, args ...string) string {
	t.Helper()
	p := c.Run(t, node, program, args...)
	code, ended := p.Wait(2 * time.Minute)
	if !ended || code != 0 {
		t.Fatalf("%s %s on %s: exit code %d: %s", p.Name, strings.Join(args, " "), node, code, p.Log())
	}
	return p.Log()
}

// A Reference is the reference driver of tests/cluster/driver: Go, on Kubernetes' own helper, and
// misbehaving on demand.
type Reference struct {
	*Process
	socket string
}

// Reference runs the reference driver beside a node's kubelet, and returns when it takes commands.
// Flags are its own.
func (c *Cluster) Reference(t testing.TB, node string, flags ...string) *Reference {
	t.Helper()
	name := "ref.example.com"
	for i := range len(flags) - 1 {
		if flags[i] == "--name" {
			name = flags[i+1]
		}
	}
	for i := range len(flags) - 1 {
		if flags[i] == "--instance" {
			name += flags[i+1]
		}
	}
	socket := filepath.Join(c.Dir, node, "run", name+".sock")
	// One that was killed left its socket.
	_ = os.Remove(socket)
	r := &Reference{Process: c.start(t, node, "reference-driver",
		c.harness(t.Context(), "driver", append([]string{node}, flags...)...)), socket: socket}
	Eventually(t, "the reference driver takes commands", 30*time.Second, func() (bool, string) {
		_, err := r.ask("show")
		return err == nil, fmt.Sprint(err)
	})
	return r
}

// AwaitRegistered waits for the kubelet to take it. A Pod that the kubelet meets before that is
// looked at again after a minute or more.
func (r *Reference) AwaitRegistered(t testing.TB) {
	t.Helper()
	Eventually(t, "the kubelet registers the reference driver", 30*time.Second, func() (bool, string) {
		state := r.Tell(t, "show")
		return strings.Contains(state, `"registered":true`), state
	})
}

// Tell gives it a command ("health dev-0 Unhealthy it fell off the bus"); docs/guide/cluster.md
// lists them.
func (r *Reference) Tell(t testing.TB, command string) string {
	t.Helper()
	answer, err := r.ask(command)
	if err != nil || strings.HasPrefix(answer, "error: ") {
		t.Fatalf("tell the reference driver %q: %v %s", command, err, answer)
	}
	return answer
}

func (r *Reference) ask(command string) (string, error) {
	connection, err := net.Dial("unix", r.socket)
	if err != nil {
		return "", err
	}
	defer connection.Close()
	if _, err := fmt.Fprintln(connection, command); err != nil {
		return "", err
	}
	return bufio.NewReader(connection).ReadString('\n')
}

// pidOf is a Pod's process whose command line begins like this, with zeros between its words.
func pidOf(t testing.TB, pod *corev1.Pod, command string) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		groups, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cgroup"))
		if strings.HasPrefix(string(text), command) && strings.Contains(string(groups), string(pod.UID)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	t.Fatalf("Pod %s has no process %q", pod.Name, command)
	return 0
}
