package stories

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestANodeThatIsRemovedTakesItsDeviceHealthAlong: nobody but Kubernetes' garbage collector sees to
// it, by the owner that the agent gave the object.
func TestANodeThatIsRemovedTakesItsDeviceHealthAlong(t *testing.T) {
	sameOnBoth(t)
	manager := startManager(t)
	Eventually(t, "the node's object has its Node as owner", podWithin, func() (bool, string) {
		said, err := cluster.KubectlError(t.Context(), "", "get", "nodedevicehealth", virtualNode,
			"-o", "jsonpath={.metadata.ownerReferences[*].kind}")
		return err == nil && said == "Node", said
	})
	// One that still runs would make its Node anew.
	manager.Stop()
	if err := cluster.API.CoreV1().Nodes().Delete(t.Context(), virtualNode,
		metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "the node's object is gone", 2*time.Minute, func() (bool, string) {
		said, err := cluster.KubectlError(t.Context(), "", "get", "nodedevicehealth", virtualNode)
		return err != nil && strings.Contains(said, "NotFound"), said
	})
}
