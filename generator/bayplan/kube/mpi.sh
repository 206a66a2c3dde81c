#!/bin/sh
# Runs an MPI launcher such as mpirun in the first pod, on all pods, without an operator. The image needs sshd, ssh and
# ssh-keygen. Every pod has an sshd. The others join the first one through ssh, stay connected until the launcher ends,
# and exit with its status. The first pod makes the hostfile from those that joined.
#
#   launch COMMAND...        in every pod; the command runs in the first one
#   launch --session FOLDER  for each ssh connection, called by sshd
port=2222 keys=/etc/mpi/ssh limit=${MPI_START_SECONDS:-1800}

if [ "$1" = --session ]; then
  folder=$2
  . "$folder/env" # sshd does not pass on the variables of the container
  cd "$(cat "$folder/start")" || exit 1
  case ${SSH_ORIGINAL_COMMAND:-} in
  "join "*)
    set -- $SSH_ORIGINAL_COMMAND
    echo "$3" > "$folder/joining.$2" && mv "$folder/joining.$2" "$folder/pods/$2"
    echo joined
    until [ -e "$folder/status" ]; do sleep 2; done
    echo "ended $(cat "$folder/status")"
    exec rm "$folder/pods/$2"
    ;;
  *) exec sh -c "${SSH_ORIGINAL_COMMAND:-sh}" ;;
  esac
fi

eval "${MPI_BEFORE:-}" # what every pod does first; ranks get the variables that it exports

set -u
folder=$(mktemp -d /tmp/mpi.XXXXXX) || exit 1
daemon=''
say() { echo "mpi: $*" >&2; }

end() { # the others exit with this status too; they need a moment to read it
  trap : TERM
  if [ -d "$folder/pods" ]; then
    rm -f "$folder/pods/0"
    echo "$1" > "$folder/ending" && mv "$folder/ending" "$folder/status"
    left=15
    while [ "$left" -gt 0 ] && [ -n "$(ls "$folder/pods")" ]; do sleep 1; left=$((left - 1)); done
    sleep 1
  fi
  [ -z "$daemon" ] || kill "$daemon"
  rm -rf "$folder"
  exit "$1"
}

start_daemon() {
  PATH=$PATH:/usr/sbin:/sbin
  for program in sshd ssh ssh-keygen; do
    if ! command -v "$program" > "$folder/$program"; then
      say "the image has no $program: install openssh-server and openssh-client in it"
      end 1
    fi
  done
  # One key pair identifies users and hosts, so that pods accept and trust only each other.
  (umask 077 && cat "$keys/ssh-privatekey" > "$folder/key")
  if ! public=$(ssh-keygen -y -f "$folder/key"); then
    say "$keys has no key: create the Secret of the volume mpi-ssh, with ssh-privatekey and ssh-publickey"
    end 1
  fi
  echo "$public" > "$folder/authorized"
  echo "* $public" > "$folder/known"
  export -p > "$folder/env"
  pwd > "$folder/start"
  cat > "$folder/sshd_config" <<END
Port $port
HostKey $folder/key
AuthorizedKeysFile $folder/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
MaxStartups 4096
PidFile none
LogLevel ERROR
ForceCommand sh $0 --session $folder
END
  cat > "$folder/ssh_config" <<END
Port $port
IdentityFile $folder/key
IdentitiesOnly yes
UserKnownHostsFile $folder/known
GlobalKnownHostsFile none
StrictHostKeyChecking yes
BatchMode yes
ConnectTimeout 10
ServerAliveInterval 15
ServerAliveCountMax 8
LogLevel ERROR
END
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd # sshd of root needs it, and images without an init lack it
  "$(cat "$folder/sshd")" -D -e -f "$folder/sshd_config" &
  daemon=$!
}

if [ "$NODE_RANK" != 0 ]; then
  trap : TERM # the launcher passes signals on to its ranks, so this pod stays until the launcher ends
  start_daemon
  until=$(($(date +%s) + limit))
  while :; do
    said=$(ssh -F "$folder/ssh_config" "$MASTER_ADDR" "join $NODE_RANK $MPI_ADDRESS" 2> "$folder/errors")
    case $said in
    *ended*) end "${said##*ended }" ;;
    *joined*)
      say "lost the connection to the first pod, $MASTER_ADDR"
      end 1
      ;;
    esac
    if [ "$(date +%s)" -ge "$until" ]; then
      say "cannot reach the first pod, $MASTER_ADDR, for $limit seconds: $(cat "$folder/errors")"
      end 1
    fi
    sleep 2
  done
fi

mkdir "$folder/pods"
echo "${MPI_ADDRESS:-localhost}" > "$folder/pods/0"
if [ "$NNODES" -gt 1 ]; then
  start_daemon
  until=$(($(date +%s) + limit))
  until [ "$(ls "$folder/pods" | wc -l)" -ge "$NNODES" ]; do
    if ! kill -0 "$daemon" || [ "$(date +%s)" -ge "$until" ]; then
      say "of $NNODES pods, those with these ranks joined within $limit seconds: $(ls "$folder/pods" | sort -n | xargs)"
      end 1
    fi
    sleep 1
  done
fi
rank=0
while [ "$rank" -lt "$NNODES" ]; do
  read -r address < "$folder/pods/$rank"
  echo "$address slots=$MPI_SLOTS" >> "$folder/hostfile"
  echo "$address:$MPI_SLOTS" >> "$folder/machinefile"
  rank=$((rank + 1))
done

# Open MPI 4, Open MPI 5 with PRRTE, Intel MPI and MPICH read these. They do not ask Slurm's variables.
export OMPI_MCA_orte_default_hostfile="$folder/hostfile" PRTE_MCA_prte_default_hostfile="$folder/hostfile"
export OMPI_MCA_plm_rsh_agent=ssh PRTE_MCA_plm_ssh_agent=ssh
export OMPI_MCA_plm_rsh_args="-F $folder/ssh_config" PRTE_MCA_plm_ssh_args="-F $folder/ssh_config"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export I_MPI_HYDRA_HOST_FILE="$folder/machinefile" I_MPI_PERHOST="$MPI_SLOTS"
export I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS="-F $folder/ssh_config"
export HYDRA_HOST_FILE="$folder/machinefile" HYDRA_LAUNCHER=ssh HYDRA_LAUNCH_EXTRA_ARGS="-F $folder/ssh_config"

"$@" &
command=$!
trap 'kill -TERM "$command"' TERM
wait "$command"
status=$?
until [ "$status" -lt 128 ]; do # a signal may have ended `wait`: then it has another result now, or the launcher still runs
  wait "$command" 2> "$folder/errors"
  now=$?
  [ "$now" -ne 127 ] || break
  [ "$now" -ne "$status" ] || kill -0 "$command" 2> "$folder/errors" || break
  status=$now
done
end "$status"
