from torchx.specs import AppDef, Resource, Role, VolumeMount, macros

SCRIPT = """
cp -r /keys ~/.ssh && chmod -R go= ~/.ssh && cat ~/.ssh/id_ed25519.pub >> ~/.ssh/authorized_keys
$$(command -v sshd) -p 2222 -h ~/.ssh/id_ed25519
hosts=$$(for i in $$(seq 0 7); do eval echo \\$$VC_WORKER_$${i}_HOSTS:8; done | paste -sd,)
if [ $rank = 0 ]; then
  for each in $$(echo $$hosts | sed 's/:8//g; s/,/ /g'); do
    until ssh -p 2222 -o StrictHostKeyChecking=accept-new $$each true; do sleep 2; done
  done
  mpirun --mca plm_rsh_args "-p 2222" -np 64 -H $$hosts all_reduce_perf -b 8M -e 16G -f 2
  for each in $$(echo $$hosts | sed 's/:8//g; s/,/ /g'); do ssh -p 2222 $$each touch /tmp/end; done
fi
until [ -e /tmp/end ]; do sleep 2; done
"""


def allreduce() -> AppDef:
    """mpirun on the first of eight nodes."""
    worker = Role(
        name="worker",
        image="registry.example.com/nccl-tests:2.17",
        num_replicas=8,
        entrypoint="bash",
        args=["-c", SCRIPT.replace("$rank", macros.replica_id)],
        resource=Resource(cpu=160, gpu=8, memMB=1_500_000),
        mounts=[VolumeMount(src="mpi-keys", dst_path="/keys", read_only=True)],
    )
    return AppDef(name="allreduce", roles=[worker])
