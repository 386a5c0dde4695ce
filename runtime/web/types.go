package web

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"hank/runtime/web/guard"
	"hank/runtime/web/page"
)

// Options say what is served, and to whom.
type Options struct {
	Pages *page.Pages
	// Listen is an address of the loopback, 127.0.0.1:0 for any port, or unix:PATH.
	Listen string
	// Hosts are more names, with ports, that a browser may know the server by.
	Hosts []string
	// Acts: the server also carries out what is asked for.
	Acts bool
	// Dir is where addresses and the audit are kept.
	Dir string
}

// Server serves the pages.
type Server struct {
	o        Options
	listener net.Listener
	http     *http.Server
	guard    *guard.Guard
	address  *addressFile
	audit    audit
	alive    time.Duration // how often a stream says that it is there
	patience time.Duration // how long a client may take no part of an answer
	made     sync.Map      // of an execution's id: the making of the newest of its pages
	stop     context.CancelFunc
}

// making is when a page was made, and how long that took.
type making struct {
	at   time.Time
	took time.Duration
}

// connection is the key of a request's connection in its context.
type connection struct{}
