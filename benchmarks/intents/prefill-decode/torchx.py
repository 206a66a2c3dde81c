from torchx.specs import AppDef, Resource, Role, VolumeMount, macros

IMAGE = "lmsysorg/sglang:v0.5.10"


def engine(name: str, mode: str, nodes: int) -> Role:
    leader = f"VC_{name.upper().replace('-', '_')}_0_HOSTS"
    command = (
        f"exec python3 -m sglang.launch_server --disaggregation-mode={mode} --model-path=/models/r1 --host=0.0.0.0 "
        f"--tp={nodes * 4} --nnodes={nodes} --node-rank={macros.replica_id} --dist-init-addr=$${leader}:29500"
    )
    return Role(
        name=name,
        image=IMAGE,
        num_replicas=nodes,
        entrypoint="sh",
        args=["-c", command],
        resource=Resource(cpu=96, gpu=4, memMB=640_000),
        mounts=[VolumeMount(src="models", dst_path="/models", read_only=True)],
    )


def chat() -> AppDef:
    """Prefill, decode and a router."""
    command = (
        "exec python3 -m sglang_router.launch_router --pd-disaggregation --prefill http://$$VC_PREFILL_0_0_HOSTS:30000 "
        "--prefill http://$$VC_PREFILL_1_0_HOSTS:30000 --decode http://$$VC_DECODE_0_HOSTS:30000 --host=0.0.0.0 "
        "--port=8000"
    )
    router = Role(
        name="router",
        image=IMAGE,
        entrypoint="sh",
        args=["-c", command],
        port_map={"http": 8000},
        resource=Resource(cpu=8, gpu=0, memMB=16_000),
    )
    engines = [engine("prefill-0", "prefill", 2), engine("prefill-1", "prefill", 2), engine("decode", "decode", 4)]
    return AppDef(name="chat", roles=[router, *engines])
