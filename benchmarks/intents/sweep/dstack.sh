for lr in 0.0001 0.0003 0.001 0.003; do
  for decay in 0 0.01 0.03 0.1; do
    dstack apply -y -d -n sweep-$((i)) -e LR=$lr -e DECAY=$decay -e TRIAL=$((i++)) -f dstack.dstack.yml
  done
done
