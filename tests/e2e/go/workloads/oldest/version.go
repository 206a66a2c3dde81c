package main

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

var silent = &record.FakeRecorder{}

// This controller-runtime has only the apply that is a patch.
func applied(*interceptor.Funcs, *store, *runtime.Scheme) {}
