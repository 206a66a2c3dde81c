#!/bin/sh
# Runs an MPI launcher such as mpirun in the first pod, on all pods. The image needs sshd, ssh and ssh-keygen. Every pod
# has an sshd. The others join the first one through ssh, stay connected until the launcher ends, and exit with its
# status. The first pod makes the hostfile from those that joined.
#
# mpi-operator makes the key, and sets K_MPI_JOB_ROLE. It may start the launcher again, so that its workers join again
# until it deletes them.
#
#   launch COMMAND...        in every pod; the command runs in the first one
#   launch --session FOLDER  for each ssh connection, called by sshd
#
# Variables of the script start with `mpi_`, because sh exports those that the container sets.

if [ "$1" = --session ]; then
  mpi_folder=$2
  . "$mpi_folder/env" # sshd does not pass on the variables of the container
  cd "$(cat "$mpi_folder/start")" || exit 1
  case ${SSH_ORIGINAL_COMMAND:-} in
  "join "*)
    set -- $SSH_ORIGINAL_COMMAND
    echo "$3" > "$mpi_folder/joining.$2" && mv "$mpi_folder/joining.$2" "$mpi_folder/pods/$2"
    echo joined
    until [ -e "$mpi_folder/status" ]; do sleep 2; done
    echo "ended $(cat "$mpi_folder/status")"
    exec rm "$mpi_folder/pods/$2"
    ;;
  *) exec sh -c "${SSH_ORIGINAL_COMMAND:-sh}" ;;
  esac
fi

eval "${MPI_BEFORE:-}" # what every pod does first; ranks get the variables that it exports

set +e -u
mpi_keys=/etc/mpi-launcher/ssh mpi_limit=${MPI_START_SECONDS:-1800} mpi_signals='HUP INT QUIT TERM USR1 USR2' mpi_daemon=''
# The same folder in every pod: launchers start programs as a tree, so ssh of other pods has the settings of the first.
mpi_folder=${MPI_FOLDER:-/tmp}/mpi
rm -rf "$mpi_folder" && mkdir -m 700 "$mpi_folder" || exit 1

# Open MPI 4, Open MPI 5 with PRRTE, Intel MPI and MPICH read these. They do not ask Slurm's variables.
export OMPI_MCA_orte_default_hostfile="$mpi_folder/hostfile" PRTE_MCA_prte_default_hostfile="$mpi_folder/hostfile"
export OMPI_MCA_plm_rsh_agent=ssh PRTE_MCA_plm_ssh_agent=ssh
export OMPI_MCA_plm_rsh_args="-F $mpi_folder/ssh_config" PRTE_MCA_plm_ssh_args="-F $mpi_folder/ssh_config"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export I_MPI_HYDRA_HOST_FILE="$mpi_folder/machinefile" I_MPI_PERHOST="$MPI_SLOTS"
export I_MPI_HYDRA_BOOTSTRAP=ssh I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS="-F $mpi_folder/ssh_config"
export HYDRA_HOST_FILE="$mpi_folder/machinefile" HYDRA_LAUNCHER=ssh
export HYDRA_LAUNCH_EXTRA_ARGS="-F $mpi_folder/ssh_config" # its name before MPICH 5
export HYDRA_LAUNCHER_EXTRA_ARGS="$HYDRA_LAUNCH_EXTRA_ARGS"

say() { echo "mpi: $*" >&2; }

end() { # the others exit with this status too; they need a moment to read it
  trap : $mpi_signals
  if [ -d "$mpi_folder/pods" ]; then
    rm -f "$mpi_folder/pods/0"
    echo "$1" > "$mpi_folder/ending" && mv "$mpi_folder/ending" "$mpi_folder/status"
    mpi_left=15
    while [ "$mpi_left" -gt 0 ] && [ -n "$(ls "$mpi_folder/pods")" ]; do sleep 1; mpi_left=$((mpi_left - 1)); done
    sleep 1
  fi
  [ -z "$mpi_daemon" ] || kill "$mpi_daemon" 2> /dev/null
  rm -rf "$mpi_folder"
  exit "$1"
}

start_daemon() {
  PATH=$PATH:/usr/sbin:/sbin
  for mpi_program in sshd ssh ssh-keygen; do
    if ! command -v "$mpi_program" > "$mpi_folder/$mpi_program"; then
      say "the image has no $mpi_program: install openssh-server and openssh-client in it"
      end 1
    fi
  done
  # One key pair identifies users and hosts, so that pods accept and trust only each other.
  (umask 077 && cat "$mpi_keys"/ssh-privatekey "$mpi_keys"/id_rsa > "$mpi_folder/key" 2> "$mpi_folder/errors")
  if ! mpi_public=$(ssh-keygen -y -f "$mpi_folder/key"); then
    say "$mpi_keys has no key: create the Secret of the volume mpi-ssh, with ssh-privatekey and ssh-publickey"
    end 1
  fi
  echo "$mpi_public" > "$mpi_folder/authorized"
  echo "* $mpi_public" > "$mpi_folder/known"
  export -p > "$mpi_folder/env"
  pwd > "$mpi_folder/start"
  cat > "$mpi_folder/sshd_config" <<END
Port 2222
HostKey $mpi_folder/key
AuthorizedKeysFile $mpi_folder/authorized
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictModes no
MaxStartups 4096
PidFile none
LogLevel ERROR
ForceCommand sh $0 --session $mpi_folder
END
  cat > "$mpi_folder/ssh_config" <<END
Port 2222
IdentityFile $mpi_folder/key
IdentitiesOnly yes
UserKnownHostsFile $mpi_folder/known
GlobalKnownHostsFile none
StrictHostKeyChecking yes
BatchMode yes
ConnectTimeout 10
ServerAliveInterval 15
ServerAliveCountMax 8
LogLevel ERROR
END
  [ "$(id -u)" != 0 ] || mkdir -p /run/sshd # sshd of root needs it, and images without an init lack it
  "$(cat "$mpi_folder/sshd")" -D -e -f "$mpi_folder/sshd_config" &
  mpi_daemon=$!
  wait_again
  # With `hostNetwork`, the sshd of another pod on the node may answer, and that of this pod ends.
  while :; do
    mpi_said=$(ssh -n -F "$mpi_folder/ssh_config" "$MPI_ADDRESS" 'echo $NODE_RANK' 2> "$mpi_folder/errors")
    [ "$mpi_said" != "$NODE_RANK" ] || break
    go_on "cannot reach its own sshd: $(cat "$mpi_folder/errors")"
    sleep 1
  done
}

wait_again() { mpi_until=$(($(date +%s) + mpi_limit)); }

go_on() { # ends with a reason if sshd has ended or the time is over
  if ! kill -0 "$mpi_daemon" 2> /dev/null; then
    say "sshd has ended, see its messages"
    end 1
  elif [ "$(date +%s)" -ge "$mpi_until" ]; then
    say "$1"
    end 1
  fi
}

if [ "$NODE_RANK" != 0 ]; then
  # The launcher passes signals on to its ranks, so this pod stays until the launcher ends.
  mpi_deleted=''
  trap mpi_deleted=1 $mpi_signals
  start_daemon
  while [ -z "${K_MPI_JOB_ROLE:-}" ] || [ -z "$mpi_deleted" ]; do
    mpi_said=$(ssh -n -F "$mpi_folder/ssh_config" "$MASTER_ADDR" "join $NODE_RANK $MPI_ADDRESS" 2> "$mpi_folder/errors")
    case ${K_MPI_JOB_ROLE:-}$mpi_said in
    worker*joined*) wait_again ;;
    *ended*) end "${mpi_said##*ended }" ;;
    *joined*)
      say "lost the connection to the first pod, $MASTER_ADDR"
      end 1
      ;;
    esac
    go_on "cannot reach the first pod, $MASTER_ADDR, for $mpi_limit seconds: $(cat "$mpi_folder/errors")"
    sleep 2
  done
  end 0
fi

mkdir "$mpi_folder/pods"
echo "${MPI_ADDRESS:-localhost}" > "$mpi_folder/pods/0"
if [ "$NNODES" -gt 1 ]; then
  start_daemon
  until [ "$(ls "$mpi_folder/pods" | wc -l)" -ge "$NNODES" ]; do
    mpi_joined=$(ls "$mpi_folder/pods" | sort -n | xargs)
    go_on "of $NNODES pods, those with these ranks joined within $mpi_limit seconds: $mpi_joined"
    sleep 1
  done
fi
mpi_rank=0
while [ "$mpi_rank" -lt "$NNODES" ]; do
  read -r mpi_address < "$mpi_folder/pods/$mpi_rank"
  echo "$mpi_address slots=$MPI_SLOTS" >> "$mpi_folder/hostfile"
  echo "$mpi_address:$MPI_SLOTS" >> "$mpi_folder/machinefile"
  mpi_rank=$((mpi_rank + 1))
done

# A command in the background would have no standard input, and would ignore SIGINT and SIGQUIT: bash resets them in a
# subshell, other shells need coreutils 8.31 for it.
for mpi_signal in $mpi_signals; do
  trap "kill -$mpi_signal \$mpi_command 2> /dev/null" "$mpi_signal"
done
exec 3<&0
env --default-signal=INT,QUIT true 2> /dev/null && set -- env --default-signal=INT,QUIT "$@"
(trap - INT QUIT; exec "$@" <&3 3<&-) &
mpi_command=$!
wait "$mpi_command"
mpi_status=$?
# A signal may have ended `wait`: then it has another result now, or the launcher still runs.
until [ "$mpi_status" -lt 128 ]; do
  wait "$mpi_command" 2> "$mpi_folder/errors"
  mpi_now=$?
  [ "$mpi_now" -ne 127 ] || break
  [ "$mpi_now" -ne "$mpi_status" ] || kill -0 "$mpi_command" 2> "$mpi_folder/errors" || break
  mpi_status=$mpi_now
done
end "$mpi_status"
