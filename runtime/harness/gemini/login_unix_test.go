//go:build unix

package gemini

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hank/internal/short"
	"hank/runtime/harness"
	"hank/runtime/harness/internal/harnesstest"
)

// certify makes a certificate for the hosts of Google, and the file of the authority that
// has signed it: itself.
func certify(t *testing.T) (cert tls.Certificate, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"*.googleapis.com"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	authority = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, authority
}

// google is a stand-in for the hosts of Google, which renews each login and refuses the
// rest, behind a proxy of its own.
func google(t *testing.T) (proxy, authority string, renewals *atomic.Int32) {
	t.Helper()
	cert, authority := certify(t)
	renewals = &atomic.Int32{}
	hosts := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/token" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`)
			return
		}
		renewals.Add(1)
		_, _ = io.WriteString(w, `{"access_token":"renewed","expires_in":3600,"token_type":"Bearer"}`)
	}))
	hosts.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	hosts.StartTLS()
	t.Cleanup(hosts.Close)
	tunnel := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "no tunnel", http.StatusBadRequest)
			return
		}
		there, err := net.Dial("tcp", hosts.Listener.Addr().String())
		if err != nil {
			t.Error(err)
			return
		}
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here); there.Close() }()
		go func() { _, _ = io.Copy(here, there); here.Close() }()
	}))
	t.Cleanup(tunnel.Close)
	return tunnel.URL, authority, renewals
}

// The agent renews a login by writing into the file, not by putting another in its place.
func TestRealAgentRenewsItsLoginThroughTheLink(t *testing.T) {
	t.Parallel()
	short.Skip(t)
	proxy, authority, renewals := google(t)
	user, dir := login(t, map[string]string{loginName: aLogin})
	req := request(t, func(r *harness.Request) {
		r.Agent.Path, r.Workspace, r.Temp = agent.CLI(t), t.TempDir(), t.TempDir()
		r.Environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + user, "HTTPS_PROXY=" + proxy, "NODE_EXTRA_CA_CERTS=" + authority}
	})
	c, _ := command(t, req)
	played := harnesstest.Run(t, Harness{}, req, c, nil)
	text, err := os.ReadFile(filepath.Join(dir, loginName))
	var now struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err != nil || json.Unmarshal(text, &now) != nil || now.Access != "renewed" || now.Refresh != "r" || renewals.Load() == 0 {
		t.Errorf("after %d renewals the user's login is %s, %v\n%s", renewals.Load(), text, err, played.Transcript)
	}
	if f := played.Verdict.Failure; f == nil || !strings.HasPrefix(f.Message, "the agent ended with exit status") {
		t.Errorf("without a provider the attempt is %+v", f)
	}
	command(t, req) // which would refuse a file in the place of the link
}
