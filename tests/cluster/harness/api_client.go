package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// An apiClient asks the API server the few things that starting and ending a cluster take.
type apiClient struct {
	server string
	token  string
	http   *http.Client
}

// askWithin bounds one request; an API server that is busy starting answers late.
const askWithin = 5 * time.Second

func newAPIClient(server, authority, tokens string) (*apiClient, error) {
	text, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	line, err := os.ReadFile(tokens)
	if err != nil {
		return nil, err
	}
	token, _, _ := strings.Cut(string(line), ",")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true,
	}
	return &apiClient{server, token, &http.Client{Timeout: askWithin, Transport: transport}}, nil
}

// ask sends a request and fills answer with what came back, if it is wanted.
func (a *apiClient) ask(ctx context.Context, method, path, body string, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, a.server+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	response, err := a.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.200s", method, path, response.Status, text)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}

func (a *apiClient) ok(ctx context.Context, path string) bool {
	return a.ask(ctx, http.MethodGet, path, "", nil) == nil
}

// node is what we read of a Node.
type node struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Status struct {
		NodeInfo struct {
			KubeletVersion string `json:"kubeletVersion"`
			Runtime        string `json:"containerRuntimeVersion"`
		} `json:"nodeInfo"`
		Conditions []struct {
			Type    string    `json:"type"`
			Status  string    `json:"status"`
			Message string    `json:"message"`
			Said    time.Time `json:"lastHeartbeatTime"`
		} `json:"conditions"`
	} `json:"status"`
}

// ready gives whether the node is Ready, since when, and why not if not.
func (n node) ready() (ready bool, said time.Time, why string) {
	for _, condition := range n.Status.Conditions {
		if condition.Type == "Ready" {
			return condition.Status == "True", condition.Said, condition.Message
		}
	}
	return false, time.Time{}, "it has not reported yet"
}

// leaseRenewed is when the node's kubelet last said that it lives.
func (a *apiClient) leaseRenewed(ctx context.Context, node string) time.Time {
	var lease struct {
		Spec struct {
			RenewTime time.Time `json:"renewTime"`
		} `json:"spec"`
	}
	_ = a.ask(ctx, http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/"+
		node, "", &lease)
	return lease.Spec.RenewTime
}

func (a *apiClient) nodes(ctx context.Context) ([]node, error) {
	var list struct {
		Items []node `json:"items"`
	}
	err := a.ask(ctx, http.MethodGet, "/api/v1/nodes", "", &list)
	return list.Items, err
}

// namespacesOfPods lists the namespaces that have Pods, once for each Pod.
func (a *apiClient) namespacesOfPods(ctx context.Context) ([]string, error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Namespace string `json:"namespace"`
			} `json:"metadata"`
		} `json:"items"`
	}
	err := a.ask(ctx, http.MethodGet, "/api/v1/pods", "", &list)
	var namespaces []string
	for _, item := range list.Items {
		namespaces = append(namespaces, item.Metadata.Namespace)
	}
	return namespaces, err
}
