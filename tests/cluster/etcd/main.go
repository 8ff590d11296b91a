// Command etcd is etcd: the API server's store. Its own module, since its pins differ from those
// of Kubernetes.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
