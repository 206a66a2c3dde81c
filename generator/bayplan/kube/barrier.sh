#!/bin/sh
# Starts a command when all pods of a gang or group run. DNS lists those whose containers run: the headless Service in
# BARRIER_SERVICE has only pods that are ready. The image needs getent, nslookup or python3.
#
#   wait COMMAND...
#
# Variables of the script start with `barrier_`, because sh exports those that the container sets.

set -uf
barrier_limit=${BARRIER_SECONDS:-1800}
# Servers may repeat an answer for 30 seconds (`ttl 30` in the Corefile of kubeadm). A pod whose command ends is no
# longer listed, so each pod stays for as long as others may read an old answer, and no pod forgets what it has read.
barrier_settle=${BARRIER_SETTLE_SECONDS:-30}
barrier_pause=$((1 + BARRIER_PODS / 500)) # DNS answers of large gangs are long
barrier_own=${BARRIER_ADDRESS:-} barrier_current='' barrier_seen=' ' barrier_number=0

say() { echo "barrier: $*" >&2; }

rest() { # in single seconds, because a trap waits for the end of a sleep
  barrier_left=$1
  while [ "$barrier_left" -gt 0 ]; do
    sleep 1
    barrier_left=$((barrier_left - 1))
  done
}

ask() { # the answer of the first program that knows the name
  getent ahosts "$BARRIER_SERVICE" && return
  barrier_answer=$(nslookup "$BARRIER_SERVICE")
  case $barrier_answer in
  *Name:*) echo "${barrier_answer#*Name:}" && return ;; # the address of the DNS server comes before it
  esac
  python3 -c 'import socket, sys; print(*(each[4][0] for each in socket.getaddrinfo(sys.argv[1], None)))' "$BARRIER_SERVICE"
}

count() { # adds the addresses of an answer
  # Before the first answer with this pod, DNS may list the pods of an earlier attempt.
  [ -n "$barrier_current" ] || { barrier_seen=' ' && barrier_number=0; }
  for barrier_word in $(ask 2> /dev/null < /dev/null); do
    case $barrier_word in
    *[!0-9A-Fa-f.:]*) ;;
    *.*.*.* | *:*:*)
      case $barrier_seen in
      *" $barrier_word "*) ;;
      *) barrier_seen="$barrier_seen$barrier_word " barrier_number=$((barrier_number + 1)) ;;
      esac
      ;;
    esac
  done
  case $barrier_seen in *" $barrier_own "*) barrier_current=yes ;; esac
}

for barrier_value in "$barrier_limit" "$barrier_settle"; do
  case $barrier_value in
  '' | *[!0-9]*)
    say "BARRIER_SECONDS and BARRIER_SETTLE_SECONDS must be integers, not \"$barrier_value\""
    exit 1
    ;;
  esac
done
command -v getent > /dev/null || command -v nslookup > /dev/null || command -v python3 > /dev/null || {
  say "the image has no getent, nslookup or python3, to ask DNS for the other pods: install one, or set \`barrier: none\`"
  exit 1
}
# A shell that is the first process of a container ignores these signals otherwise.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 131' QUIT
trap 'exit 143' TERM

[ -n "$barrier_own" ] || barrier_current=yes
barrier_start=$(date +%s) barrier_told=$(date +%s)
say "waits until $BARRIER_PODS pods run, by the DNS name $BARRIER_SERVICE"
# Servers repeat "no address" too, so the first question comes when the other pods may have started as well.
[ "$barrier_settle" -eq 0 ] || rest 5
while :; do
  count
  [ -z "$barrier_current" ] || [ "$barrier_number" -lt "$BARRIER_PODS" ] || break
  barrier_now=$(date +%s)
  if [ "$((barrier_now - barrier_start))" -ge "$barrier_limit" ]; then
    say "$barrier_number of $BARRIER_PODS pods ran within $barrier_limit seconds"
    [ -n "$barrier_current" ] || say "DNS did not list this pod, $barrier_own: look at its readiness, and at its dnsPolicy"
    say "look at \`kubectl describe service $BARRIER_SERVICE\`: its endpoints are the pods that run, and pods with the"
    say "labels of its selector that are not among them did not start; BARRIER_SECONDS sets the time limit"
    exit 1
  elif [ "$((barrier_now - barrier_told))" -ge 60 ]; then
    say "$barrier_number of $BARRIER_PODS pods run"
    barrier_told=$barrier_now
  fi
  rest "$barrier_pause"
done
say "all $BARRIER_PODS pods run; the command starts in $barrier_settle seconds"
rest "$barrier_settle"
trap - HUP INT QUIT TERM
exec "$@"
