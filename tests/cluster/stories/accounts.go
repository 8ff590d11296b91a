package stories

import (
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// What a ServiceAccount may do is tried with its own tokens.

// tokenOf is a token of an account; bound to a Pod of it, as the kubelet asks for it, or, with nil,
// to nothing.
func tokenOf(t testing.TB, ns, account string, pod *corev1.Pod) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{Kind: "Pod",
			APIVersion: "v1", Name: pod.Name, UID: pod.UID}
	}
	token, err := cluster.API.CoreV1().ServiceAccounts(ns).CreateToken(t.Context(), account, request,
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// tokenOfNode is a token of an account that is bound to a Node; the API server takes it for one of
// that node.
func tokenOfNode(t testing.TB, ns, account, node string) string {
	t.Helper()
	return strings.TrimSpace(cluster.Kubectl(t, "create", "token", account, "--namespace", ns,
		"--bound-object-kind", "Node", "--bound-object-name", node))
}

// clientOf asks the API server with that token and nothing else.
func clientOf(t testing.TB, token string) kubernetes.Interface {
	t.Helper()
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kubeconfigOf is a file that lets a program do the same.
func kubeconfigOf(t testing.TB, token string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: cluster.Config.Host,
		CertificateAuthority:     cluster.Config.CAFile,
		CertificateAuthorityData: cluster.Config.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
