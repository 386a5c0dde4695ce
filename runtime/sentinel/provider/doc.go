// Package provider asks the models of sentinels: by Chat Completions, the API that nearly
// all providers and local servers speak.
//
//   - An Endpoint is where a model is asked, and with which key: from the table of
//     providers and the variables of the environment.
//   - A Client asks the model of one endpoint.
//
// It knows no sentinel: what is asked, and what becomes of an answer, is the caller's.
// Each request is made once; whoever wants another try asks again. The proxy and the
// certificates are those of the environment that hank was started with (HTTPS_PROXY,
// HTTP_PROXY, NO_PROXY, SSL_CERT_FILE, SSL_CERT_DIR).
package provider
