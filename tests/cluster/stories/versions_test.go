package stories

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"
)

// Our driver serves two versions of each service, and a kubelet takes the newest that it knows.
// What an older one takes is held here on every kubelet.

// asideRoot is a kubelet's root of node-1 that no kubelet looks at.
const asideRoot = "/run/aside"

const metricsSocket = "galen-driver-metrics.sock"

var subscribersMetric = regexp.MustCompile(`(?m)^galen_driver_health_subscribers(?:\{\})? (\d+)$`)

// subscribers is how many listen to the health of the driver that serves metrics at metricsSocket.
func subscribers(t *testing.T) (count int, text string) {
	t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix",
				filepath.Join(cluster.Dir, "node-1", "run", metricsSocket))
		}}}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://driver/metrics")
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	found := subscribersMetric.FindSubmatch(body)
	if found == nil {
		return 0, string(body)
	}
	count, _ = strconv.Atoi(string(found[1]))
	return count, string(found[0])
}

// awaitSubscriber: no agent runs in these stories, so whoever listens is the kubelet.
func awaitSubscriber(t *testing.T) {
	t.Helper()
	Eventually(t, "the kubelet listens to the driver's health", podWithin, func() (bool, string) {
		count, text := subscribers(t)
		return count == 1, text
	})
}

// A kubelet of 1.34 knows v1alpha1 of health alone, so that one stream there is one of v1alpha1.
func TestEachKubeletListensToTheHealthThatOurDriverOffers(t *testing.T) {
	startGpus(t, "--metrics-address", "unix:/run/"+metricsSocket)
	awaitSubscriber(t)
}

func TestAKubeletThatIsOfferedTheOldVersionsOnlyIsServedByThem(t *testing.T) {
	cluster.Apply(t, "default", gpuClass)
	// Nobody but the registrar registers it: the kubelet does not look where it registers itself.
	driver := cluster.Run(t, "node-1", "galen-driver", "gpu", "--kubelet-root", asideRoot,
		"--metrics-address", "unix:/run/"+metricsSocket)
	cluster.BeforeProgramsEnd(t, func() { awaitNoneLeft(t) })
	awaitPublished(t, driver)
	socket := asideRoot + "/plugins/" + gpuDriver + "/dra.sock"
	registrar := cluster.start(t, "node-1", "registrar", cluster.harness(t.Context(), "driver",
		"node-1", "--register", gpuDriver+"="+socket, "--versions",
		"v1beta1.DRAPlugin,v1alpha1.DRAResourceHealth"))
	awaitLog(t, registrar, "the kubelet registered "+gpuDriver)
	ns := cluster.Namespace(t)
	cluster.Apply(t, ns, oneGpu)
	watch := hold(t, ns, "holder", fromTemplate)
	claim := claimOf(t, ns, "holder")
	uid := string(claim.UID)
	if gpus := gpusIn(t, ns, "holder", "c"); len(gpus) != 1 || gpus[0] != gpuOfSpec(uid) {
		t.Errorf("the container sees %v, the claim's CDI file gives %s", gpus, gpuOfSpec(uid))
	}
	awaitSubscriber(t)
	cluster.Output(t, "node-1", "galen", "inject", devicesOf(claim)[0], "xid=79", "--driver-socket",
		socket)
	if cluster.Is("1.34") {
		// It listens, and writes none of it for claims.
		requireNoHealth(t, watch)
	} else {
		watch.Until(t, "the lost GPU", shownWithin,
			saysHealth(1, "Unhealthy", "XID 79: GPU has fallen off the bus"))
	}
	// Its next run would begin with a lost GPU.
	cluster.Output(t, "node-1", "galen", "inject", devicesOf(claim)[0], "reset", "--driver-socket",
		socket)
	remove(t, ns, "holder")
	awaitUnprepared(t, gpuDriver, uid, podWithin)
	if left := prepared(t, gpuDriver); len(left) > 0 {
		t.Error(fmt.Sprint("prepared claims: ", left))
	}
}
