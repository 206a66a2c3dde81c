names=(a b)
echo "${#names[@]}"
