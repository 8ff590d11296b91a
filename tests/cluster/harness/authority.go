package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An authority signs the certificates of one cluster. Its key never leaves the cluster's directory
// and goes with it.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

// A cluster that is meant for hours gets certificates for a week: long enough to debug over a
// weekend.
const certificateLife = 7 * 24 * time.Hour

// A subject is whom a certificate identifies. Kubernetes reads the name as the user and the
// organizations as groups; addresses make it a server's.
type subject struct {
	file      string
	name      string
	groups    []string
	addresses []string
}

func newAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "galen test cluster"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(certificateLife),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{dir, certificate, key}
	return a, a.write("ca", der, key)
}

// issue writes a certificate and its key for the subject.
func (a *authority) issue(s subject) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: s.name, Organization: s.groups},
		NotBefore: a.certificate.NotBefore, NotAfter: a.certificate.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, address := range s.addresses {
		if ip := net.ParseIP(address); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, address)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.write(s.file, der, key)
}

func (a *authority) write(name string, der []byte, key *ecdsa.PrivateKey) error {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := a.writePEM(name+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	return a.writePEM(name+".key", "PRIVATE KEY", secret)
}

func (a *authority) writePEM(file, kind string, der []byte) error {
	text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	return os.WriteFile(filepath.Join(a.dir, file), text, 0o600)
}

func serial() *big.Int {
	number, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	return number
}

func newToken() string {
	bytes := make([]byte, 16)
	rand.Read(bytes)
	return hex.EncodeToString(bytes)
}

// credentials makes everything that parts and people show each other.
func (c *cluster) credentials() error {
	keys := c.path("keys")
	a, err := newAuthority(keys)
	if err != nil {
		return err
	}
	subjects := []subject{
		{"apiserver", "kube-apiserver", nil, []string{"localhost", "127.0.0.1", c.controlAddress(),
			serviceAddress, "kubernetes", "kubernetes.default", "kubernetes.default.svc"}},
		{"apiserver-to-kubelet", "kube-apiserver", []string{"system:masters"}, nil},
		{"controller-manager", "system:kube-controller-manager", nil, nil},
		{"scheduler", "system:kube-scheduler", nil, nil},
		{"service-account", "service-account", nil, nil},
	}
	for i, node := range c.nodes() {
		subjects = append(subjects,
			subject{node, "system:node:" + node, []string{"system:nodes"}, nil},
			subject{node + "-server", node, nil, []string{node, c.nodeAddress(i + 1)}})
	}
	for _, s := range subjects {
		if err := a.issue(s); err != nil {
			return fmt.Errorf("make the certificate of %s: %w", s.name, err)
		}
	}
	token := newToken()
	line := token + ",admin,admin,system:masters\n"
	if err := os.WriteFile(filepath.Join(keys, "tokens.csv"), []byte(line), 0o600); err != nil {
		return err
	}
	return c.kubeconfigs(token)
}
