#!/usr/bin/env bash
# The limit of `./dev bench pitr`: a server's own applier, with relay logs that are on its disk before it is started.
#
# applier.sh FLAVOUR SOCKET fetch PORT FROM TO WORKERS   the relay logs, from the server at this port; FROM and TO are
#                                                        FILE:OFFSET
# applier.sh FLAVOUR SOCKET apply TO                     applies them, and returns when all is applied
set -euo pipefail
flavour=$1 socket=$2 verb=$3
shift 3
sql() { testkit sql --socket "$socket" "$@"; }

replica=REPLICA source=SOURCE change='CHANGE REPLICATION SOURCE TO' more='GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=0'
[[ $flavour == mysql ]] ||
    replica=SLAVE source=MASTER change='CHANGE MASTER TO' more='MASTER_USE_GTID=no'

# until_at FILE-COLUMN OFFSET-COLUMN PLACE [PAUSE]: waits until the status has come to this place; ten minutes at most.
until_at() {
    local file offset status
    for ((i = 0; i < 12000; i++)); do
        status=$(sql "SHOW $replica STATUS" | head -n 1)
        file=$(cut -f "$1" <<<"$status") offset=$(cut -f "$2" <<<"$status")
        [[ $file == "${3%:*}" && $offset -lt ${3#*:} ]] || return 0
        sleep "${4:-0.05}"
    done
    printf 'not at %s: %s\n' "$3" "$status" >&2
    return 1
}

case $verb in
fetch)
    port=$1 from=$2 to=$3 workers=$4
    if [[ $flavour == mysql ]]; then
        sql "SET GLOBAL replica_parallel_workers = $workers"
    else
        sql "SET GLOBAL slave_parallel_threads = $workers" "SET GLOBAL slave_parallel_mode = 'optimistic'" \
            'SET GLOBAL slave_parallel_max_queued = 16777216'
    fi
    sql "$change ${source}_HOST='127.0.0.1', ${source}_PORT=$port, ${source}_USER='pitr', ${source}_PASSWORD='Pitr-1-word', \
        ${source}_LOG_FILE='${from%:*}', ${source}_LOG_POS=${from#*:}, $more" "START $replica IO_THREAD"
    until_at 6 7 "$to"
    sql "STOP $replica IO_THREAD"
    ;;
apply)
    sql "START $replica SQL_THREAD"
    # The columns are those of the file and the offset up to which everything is applied.
    until_at 10 22 "$1"
    ;;
esac
