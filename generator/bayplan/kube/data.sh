#!/bin/sh
# Moves data between folders of a pod and object stores, with the command line of rclone ($MOVER).
#
#   move fetch FILTER REMOTE FOLDER...          an init container downloads its inputs
#   move upload NAME SECONDS FILTER REMOTE FOLDER...
#                                               a sidecar uploads: every SECONDS and at the end, or 0: only at the end
#   move run NAMES CODE COMMAND...              the main container; NAMES of its sidecars, separated by commas; CODE: its
#                                               exit code if only an upload failed
#
# The kubelet ignores the exit code of a sidecar. So the main container waits for the sidecars, and fails if one failed.
# They share a folder: `attempt` has the number of the command's start, `status.ATTEMPT` its exit code, and
# `done.ATTEMPT.NAME` 0 or 1, the result of the upload. Sidecars also upload when they are stopped, because a container
# that the kernel kills writes no status. Variables start with `data_`, because sh exports those that the container sets.

data_state=${DATA_STATE:-/run/data}
data_mode=$1
shift

say() { echo "data: $*" >&2; }

put() { # a file that appears with its whole content, for readers with other users
  (umask 022 && echo "$2" > "$data_state/$1.new" && mv "$data_state/$1.new" "$data_state/$1")
}

copy() { # FILTER FROM TO
  set -f # $MOVER are words
  if [ -n "$1" ]; then
    $MOVER copy --config '' --copy-links --include "$1" "$2" "$3"
  else
    $MOVER copy --config '' --copy-links "$2" "$3"
  fi
}

upload() { # NOW SECONDS FILTER REMOTE FOLDER...: what is due at that second, or all without a NOW
  data_now=$1 data_result=0 data_number=0
  shift
  while [ $# -ge 4 ]; do
    data_number=$((data_number + 1))
    eval "data_due=\${data_due_$data_number:=$(($(date +%s) + $1))}"
    if [ -z "$data_now" ] || { [ "$1" -gt 0 ] && [ "$data_now" -ge "$data_due" ]; }; then
      if [ -e "$4" ] && ! copy "$2" "$4" "$3"; then
        say "cannot upload $4 to ${3#:*:}"
        data_result=1
      fi
      eval "data_due_$data_number=$(($(date +%s) + $1))"
    fi
    shift 4
  done
}

case $data_mode in
fetch)
  trap 'exit 143' TERM INT # the first process of a container ignores these signals otherwise
  umask 0                  # the command may have another user
  while [ $# -ge 3 ]; do
    mkdir -p "$3"
    copy "$1" "$2" "$3" &
    if ! wait "$!"; then
      say "cannot download ${2#:*:}"
      exit 1
    fi
    # as in OSMO, a folder that does not exist is an empty one: the first run may have no checkpoint yet
    [ -n "$(ls -A "$3")" ] || say "there is nothing at ${2#:*:}, so $3 is empty"
    shift 3
  done
  ;;
upload)
  data_name=$1 data_stop=''
  shift
  trap 'data_stop=1' TERM INT
  while :; do
    if [ -e "$data_state/attempt" ]; then
      read -r data_attempt < "$data_state/attempt"
      if [ -e "$data_state/done.$data_attempt.$data_name" ]; then
        data_result=0
      elif [ -n "$data_stop" ] || [ -e "$data_state/status.$data_attempt" ]; then
        upload '' "$@"
        put "done.$data_attempt.$data_name" "$data_result"
      else
        upload "$(date +%s)" "$@"
      fi
    fi
    [ -z "$data_stop" ] || exit "${data_result:-0}"
    sleep 1
  done
  ;;
run)
  data_names=$1 data_failure=$2 data_attempt=0
  shift 2
  [ ! -e "$data_state/attempt" ] || read -r data_attempt < "$data_state/attempt"
  data_attempt=$((data_attempt + 1))
  put attempt "$data_attempt" || exit 1
  # RUN
  trap : HUP INT QUIT TERM USR1 USR2
  put "status.$data_attempt" "$code"
  IFS=,
  for data_name in $data_names; do
    until [ -e "$data_state/done.$data_attempt.$data_name" ]; do sleep 1; done
    read -r data_result < "$data_state/done.$data_attempt.$data_name"
    if [ "$data_result" != 0 ]; then
      say "the upload failed, see the log of container $data_name"
      [ "$code" != 0 ] || code=$data_failure
    fi
  done
  exit "$code"
  ;;
esac
