package main

import (
	"encoding/base64"
	"fmt"
	"os"
)

// kubeconfig is the administrator's, for people and programs on the machine and in the namespaces.
func (c *cluster) kubeconfig() string { return c.path("kubeconfig") }

func (c *cluster) server() string {
	return fmt.Sprintf("https://%s:%d", c.controlAddress(), apiPort)
}

// kubeconfigs writes the administrator's and one for each part that asks the API server. They hold
// what they need in themselves and can be copied.
func (c *cluster) kubeconfigs(token string) error {
	if err := c.writeKubeconfig(c.kubeconfig(), "admin", "token: "+token); err != nil {
		return err
	}
	for _, user := range append([]string{"controller-manager", "scheduler"}, c.nodes()...) {
		certificate, err := c.encoded(user + ".crt")
		if err != nil {
			return err
		}
		key, err := c.encoded(user + ".key")
		if err != nil {
			return err
		}
		shows := "client-certificate-data: " + certificate + "\n    client-key-data: " + key
		if err := c.writeKubeconfig(c.path("keys", user+".kubeconfig"), user, shows); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) encoded(key string) (string, error) {
	text, err := os.ReadFile(c.path("keys", key))
	return base64.StdEncoding.EncodeToString(text), err
}

func (c *cluster) writeKubeconfig(path, user, shows string) error {
	authority, err := c.encoded("ca.crt")
	if err != nil {
		return err
	}
	return os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: galen
contexts:
- name: galen
  context: {cluster: galen, user: %[1]s}
clusters:
- name: galen
  cluster:
    server: %[2]s
    certificate-authority-data: %[3]s
users:
- name: %[1]s
  user:
    %[4]s
`, user, c.server(), authority, shows), 0o600)
}
