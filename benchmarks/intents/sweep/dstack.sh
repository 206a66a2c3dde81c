for lr in 1e-4 3e-4 1e-3 3e-3; do
  for decay in 0 0.01 0.03 0.1; do
    dstack apply -y -d -n sweep-$((i)) -e LR=$lr -e DECAY=$decay -e TRIAL=$((i++)) -f dstack.dstack.yml
  done
done
