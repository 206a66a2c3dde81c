torchx run -s kubernetes dist.ddp -j 16x8 --cpu 160 --gpu 8 --memMB 1500000 --name fsdp \
  --image nvcr.io/nvidia/pytorch:25.08-py3 --env HF_TOKEN=$HF_TOKEN \
  --mounts type=volume,src=datasets,dst=/data,readonly,type=volume,src=checkpoints,dst=/checkpoints \
  --script train.py -- --data=/data --checkpoints=/checkpoints
