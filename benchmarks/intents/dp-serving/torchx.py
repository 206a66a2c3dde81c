from torchx.specs import AppDef, Resource, RetryPolicy, Role, VolumeMount, macros


def chat() -> AppDef:
    """A model on two nodes."""
    command = (
        "exec python3 -m sglang.launch_server --model-path=/models/v3 --tp=16 --dp=16 --enable-dp-attention "
        f"--host=0.0.0.0 --port=8000 --nnodes=2 --node-rank={macros.replica_id} "
        "--dist-init-addr=$$VC_SERVER_0_HOSTS:29500"
    )
    server = Role(
        name="server",
        image="lmsysorg/sglang:v0.5.10",
        num_replicas=2,
        entrypoint="sh",
        args=["-c", command],
        port_map={"http": 8000},
        retry_policy=RetryPolicy.APPLICATION,
        max_retries=100,
        resource=Resource(cpu=160, gpu=8, memMB=1_500_000),
        mounts=[VolumeMount(src="models", dst_path="/models", read_only=True)],
    )
    return AppDef(name="chat", roles=[server])
