package scheduler

import (
	"context"
	"sync"

	"sigs.k8s.io/kueue/pkg/util/routine"
)

// ScheduleOnce runs one scheduling cycle and waits for what it admits to be written.
func (s *Scheduler) ScheduleOnce(ctx context.Context) {
	var writing sync.WaitGroup
	s.setAdmissionRoutineWrapper(routine.NewWrapper(func() { writing.Add(1) }, writing.Done))
	s.schedule(ctx)
	writing.Wait()
}
