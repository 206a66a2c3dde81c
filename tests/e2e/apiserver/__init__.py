"""A real kube-apiserver with etcd on loopback, upstream's CRDs installed: what it takes and what it refuses."""
