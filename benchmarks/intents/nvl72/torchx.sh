torchx run -s kubernetes dist.ddp -j 64x4 --cpu 96 --gpu 4 --memMB 640000 --name pretrain \
  --image nvcr.io/nvidia/pytorch:25.08-py3 \
  --mounts type=volume,src=checkpoints,dst=/checkpoints --script train.py -- --checkpoints=/checkpoints
