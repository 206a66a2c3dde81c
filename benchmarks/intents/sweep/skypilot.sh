for lr in 1e-4 3e-4 1e-3 3e-3; do
  for decay in 0 0.01 0.03 0.1; do
    sky jobs launch -y -d -n sweep-$((i)) --env LR=$lr --env DECAY=$decay --env TRIAL=$((i++)) skypilot.yaml
  done
done
