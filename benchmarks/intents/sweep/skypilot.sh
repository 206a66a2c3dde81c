for lr in 0.0001 0.0003 0.001 0.003; do
  for decay in 0 0.01 0.03 0.1; do
    sky jobs launch -y -d -n sweep-$((i)) --env LR=$lr --env DECAY=$decay --env TRIAL=$((i++)) skypilot.yaml
  done
done
