for lr in 0.0001 0.0003 0.001 0.003; do
  for decay in 0 0.01 0.03 0.1; do
    torchx run -s kubernetes utils.sh --image registry.example.com/trial:1 --cpu 16 --gpu 1 --memMB 128000 \
      --mounts type=volume,src=results,dst=/results python trial.py --lr=$lr --decay=$decay --out=/results/$((i++))
  done
done
