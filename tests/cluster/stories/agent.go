package stories

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// What stories about an installed agent share.

const (
	agentNamespace = "galen-system"
	agentName      = "galen-agent"
	agentPort      = "9470" // of its Pod's own loopback
	probesPort     = "9471" // of the Pod's address
	annotation     = "galen.dev/devices"
	condition      = corev1.PodConditionType("galen.dev/DevicesHealthy")
	// installedWithin is what an agent gets to be Ready after `kubectl apply`.
	installedWithin = 60 * time.Second
)

// manifest is what a user applies.
func manifest() string { return filepath.Join(Root(), "deploy", "galen.yaml") }

var projectVersion = regexp.MustCompile(`project\(galen VERSION ([0-9.]+)`)

// makeImage makes the image in a directory, as ./dev image does.
func makeImage(into string) error {
	text, err := os.ReadFile(filepath.Join(Root(), "CMakeLists.txt"))
	if err != nil {
		return err
	}
	found := projectVersion.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("CMakeLists.txt names no version")
	}
	said, err := exec.Command(filepath.Join(Root(), "deploy", "image.sh"),
		filepath.Dir(Program("galen-agent")), into, string(found[1])).CombinedOutput()
	if err != nil {
		return fmt.Errorf("make the image: %w: %s", err, said)
	}
	return nil
}

// imageDirectory makes the image once for all stories, unless it is there and as new as its
// programs.
var imageDirectory = sync.OnceValues(func() (string, error) {
	into := filepath.Join(Root(), "build", "image")
	made, err := os.Stat(filepath.Join(into, "galen.tar"))
	for _, from := range []string{Program("galen-agent"), Program("galen"), Program("galen-driver"),
		filepath.Join(Root(), "deploy", "image.sh")} {
		source, sourceErr := os.Stat(from)
		if err != nil || sourceErr != nil || source.ModTime().After(made.ModTime()) {
			return into, makeImage(into)
		}
	}
	return into, nil
})

// loaded are the clusters whose nodes have the image.
var loaded = map[string]bool{}

// loadImage gives the image to the cluster's nodes, once.
func (c *Cluster) loadImage(t testing.TB) {
	t.Helper()
	image, err := imageDirectory()
	if err != nil {
		t.Fatal(err)
	}
	if !loaded[c.Dir] {
		c.Harness(t, "image", filepath.Join(image, "galen.tar"))
		loaded[c.Dir] = true
	}
}

// Install does what a user does, on a cluster whose nodes have the image, and returns when the
// DaemonSet is Ready everywhere. It is taken away with the story. config is the agent's file, ""
// for the one that the manifest has.
func (c *Cluster) Install(t testing.TB, config string) {
	t.Helper()
	c.loadImage(t)
	t.Cleanup(func() { c.uninstall(t) })
	c.Kubectl(t, "apply", "-f", manifest())
	if config != "" {
		c.configure(t, config)
	}
	Eventually(t, "the DaemonSet is Ready", installedWithin, func() (bool, string) {
		set, err := c.API.AppsV1().DaemonSets(agentNamespace).Get(t.Context(), agentName,
			metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		status := set.Status
		ready := status.ObservedGeneration == set.Generation && status.NumberReady > 0 &&
			status.NumberReady == status.DesiredNumberScheduled &&
			status.UpdatedNumberScheduled == status.DesiredNumberScheduled
		return ready, fmt.Sprintf("%+v", status)
	})
}

// configure changes the agent's file and has agents read it, as the manifest says.
func (c *Cluster) configure(t testing.TB, config string) {
	t.Helper()
	maps := c.API.CoreV1().ConfigMaps(agentNamespace)
	have, err := maps.Get(t.Context(), agentName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	have.Data["agent.yaml"] += config
	if _, err := maps.Update(t.Context(), have, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Kubectl(t, "-n", agentNamespace, "rollout", "restart", "daemonset/"+agentName)
}

func (c *Cluster) uninstall(t testing.TB) {
	if t.Failed() {
		said, _ := c.KubectlError(context.Background(), "", "-n", agentNamespace, "logs",
			"daemonset/"+agentName, "--tail=30")
		t.Logf("the agent wrote:\n%s", said)
	}
	if said, err := c.KubectlError(context.Background(), "", "delete", "--ignore-not-found",
		"--timeout=60s", "-f", manifest()); err != nil {
		t.Errorf("%v: %s", err, said)
	}
}

// agentPod is the agent's Pod on node-1.
func (c *Cluster) agentPod(t testing.TB) *corev1.Pod {
	t.Helper()
	return c.agentPodOn(t, "node-1")
}

func (c *Cluster) agentPodOn(t testing.TB, node string) *corev1.Pod {
	t.Helper()
	list, err := c.API.CoreV1().Pods(agentNamespace).List(t.Context(), metav1.ListOptions{
		FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			return &list.Items[i]
		}
	}
	t.Fatalf("no agent on %s: %d Pods", node, len(list.Items))
	return nil
}

// strangerHears asks the agent's Pod over the network, through the API server: the status and the
// text, whatever they are.
func (c *Cluster) strangerHears(t testing.TB, port, path string) (status int, text string) {
	t.Helper()
	client, err := rest.HTTPClientFor(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return heard(t, client, c.Config.Host+"/api/v1/namespaces/"+agentNamespace+"/pods/"+
		c.agentPod(t).Name+":"+port+"/proxy/"+path)
}

// agentSays asks the agent over HTTP on the loopback of its Pod, as `kubectl port-forward` does:
// the status and the text, whatever they are.
func (c *Cluster) agentSays(t testing.TB, path string) (status int, text string) {
	t.Helper()
	network := fmt.Sprintf("/proc/%d/ns/net", pidOf(t, c.agentPod(t), agentName+"\x00"))
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, kind, address string) (net.Conn, error) {
			return dialIn(ctx, network, kind, address)
		}}}
	return heard(t, client, "http://127.0.0.1:"+agentPort+"/"+path)
}

// dialIn connects from within another network namespace. Its thread comes back from there: one that
// ended would take the programs along that it has started (PDEATHSIG is by thread).
func dialIn(ctx context.Context, network, kind, address string) (net.Conn, error) {
	type made struct {
		connection net.Conn
		err        error
	}
	result := make(chan made, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		connection, err := inNetwork(network, func() (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, kind, address)
		})
		result <- made{connection, err}
	}()
	done := <-result
	return done.connection, done.err
}

// inNetwork does something in another network namespace, and comes back. The caller's goroutine is
// locked to its thread.
func inNetwork(network string, do func() (net.Conn, error)) (net.Conn, error) {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer home.Close()
	place, err := os.Open(network)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	if err := unix.Setns(int(place.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, err
	}
	connection, err := do()
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		panic(fmt.Sprintf("a thread is lost in %s: %v", network, err))
	}
	return connection, err
}

func heard(t testing.TB, client *http.Client, url string) (status int, text string) {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatalf("ask the agent: %v", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("read what the agent says: %v", err)
	}
	return response.StatusCode, string(body)
}

// says holds when the annotation is that; "…" stands for anything, as times.
func says(sentence string) func(*corev1.Pod) bool {
	words := strings.Split(sentence, "…")
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	want := regexp.MustCompile("^" + strings.Join(words, ".*") + "$")
	return func(pod *corev1.Pod) bool {
		return pod != nil && want.MatchString(pod.Annotations[annotation])
	}
}

// described are the lines of `kubectl describe pod` with this word in them.
func (c *Cluster) described(t testing.TB, ns, pod, word string) string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(c.Kubectl(t, "describe", "pod", "-n", ns, pod)) {
		if strings.Contains(line, word) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}
