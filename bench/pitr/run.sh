# ./dev bench pitr: a binary log applied to a restored server, beside the applier alone and mysqlbinlog | mysql.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_pitr() {
    local flavour=mysql warehouses=10 runs=3 seconds=120 connections=8 workers=4 kind
    options pitr 'flavour warehouses runs seconds connections workers' "$@"
    pitr_source "$warehouses" "$seconds" "$connections"

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        pitr_group 'best settings' best
        pitr_group 'as installed' installed
    done
    for kind in 'best settings' 'as installed'; do
        record goal "$kind" 'penstock' 0.25 "$PIPE"
        record goal "$kind" 'penstock' 1.1 'limit: the applier alone'
    done
    record goal 'as installed' 'penstock, tuned' 0.25 "$PIPE"
    keep_report pitr "$FLAVOUR-tpcc-w$warehouses"
}

# A source with TPC-C tables, an archive of them, and the log of a TPC-C run that follows; sets FROM, TO (file:offset).
pitr_source() {
    local args
    need_tools
    need /usr/bin/time:time
    need_flavour "$FLAVOUR"
    build penstock testkit
    cargo_build --release --package penstock-replay --example replay
    MEMORY=2G RUNS="$WORK/runs.tsv" TARGET_UP=''
    machine_load
    bench_facts "$1" tpcc
    record fact 'best settings' 'no binary log on the target, flush_log_at_trx_commit=0'
    record fact 'as installed' 'binary log, sync_binlog and flush_log_at_trx_commit=1; penstock, tuned: both 0 while the log is replayed'
    record fact applier "$workers workers; the limit has its relay logs on disk before it is started"
    PORT=$((20000 + RANDOM % 20000))
    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    [[ $FLAVOUR == mariadb ]] || args+=(--gtid-mode=ON --enforce-gtid-consistency=ON)
    # The applier of the limit reads from it, over TCP, which is all that replicas know.
    server source "$FLAVOUR" "${args[@]}" --skip-networking=0 --bind-address=127.0.0.1 --port=$PORT --server-id=17
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$1"
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    PIPE='mysqlbinlog | mysql'
    [[ $FLAVOUR == mysql ]] || PIPE='mariadb-binlog | mariadb'
    mapfile -t BINLOG < <(testkit client "$FLAVOUR" "${PIPE%% *}")
    testkit sql --socket "$SOURCE_SOCKET" 'SET sql_log_bin = 0' \
        "CREATE USER pitr@'127.0.0.1' IDENTIFIED BY 'Pitr-1-word'" "GRANT REPLICATION SLAVE ON *.* TO pitr@'127.0.0.1'" \
        "CREATE USER pitr@localhost IDENTIFIED BY 'Pitr-1-word'" "GRANT REPLICATION SLAVE ON *.* TO pitr@localhost"
    say "the backup"
    penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas tpcc --to "$WORK/backup" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" 'FLUSH BINARY LOGS'
    FROM=$(pitr_position)
    say "TPC-C for $2 s, on $3 connections"
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$3" --ramp 1s --measure "$2s" >"$WORK/out"
    TO=$(pitr_position)
    LOGS="$WORK/source/data"
    record fact log "TPC-C with $1 warehouses, $2 s on $3 connections, $FROM to $TO"
    [[ ${FROM%:*} == "${TO%:*}" ]] || die 'the log has more than one file' 'choose a shorter time with --seconds'
    bytes=$((${TO#*:} - ${FROM#*:}))
}

pitr_position() {
    local status='SHOW BINARY LOG STATUS'
    [[ $FLAVOUR == mysql ]] || status='SHOW MASTER STATUS'
    testkit sql --socket "$SOURCE_SOCKET" "$status" | awk '{ print $1 ":" $2; exit }'
}

# pitr_target KIND: a server that holds the backup and nothing else.
pitr_target() {
    local args
    [[ -z $TARGET_UP ]] || server_down target
    case $1 in
    best) mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY") && args+=(--skip-log-bin) ;;
    installed) args=(--innodb-buffer-pool-size="$MEMORY" --innodb-flush-log-at-trx-commit=1 --sync-binlog=1) ;;
    esac
    [[ $FLAVOUR == mariadb ]] || args+=(--gtid-mode=ON --enforce-gtid-consistency=ON)
    server target "$FLAVOUR" --server-id=99 --relay-log=relay "${args[@]}"
    TARGET_UP=1
    penstock load "$WORK/backup" --quiet --socket "$TARGET_SOCKET" --user root --verify none >"$WORK/out" 2>&1 ||
        { cat "$WORK/out" >&2; die 'the backup could not be restored'; }
    [[ $1 == best ]] || pitr_empty_log
}

pitr_empty_log() {
    local reset='RESET BINARY LOGS AND GTIDS'
    [[ $FLAVOUR == mysql ]] || reset='RESET MASTER'
    testkit sql --socket "$TARGET_SOCKET" "$reset"
}

pitr_group() {
    local group=$1 target=$2
    local here=(bench/pitr/applier.sh "$FLAVOUR" "$WORK/target/sock")
    record bytes "$group" "$bytes"
    pitr_target "$target"
    "${here[@]}" fetch "$PORT" "$FROM" "$TO" "$workers" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die 'no relay logs'; }
    load_run "$group" 'limit: the applier alone' tpcc "${here[@]}" apply "$TO"
    pitr_target "$target"
    load_run "$group" 'penstock' tpcc "$TARGET/release/examples/replay" "$WORK/target/sock" "$WORK/state" "$LOGS" "$FROM" "$TO" "workers=$workers"
    if [[ $target == installed ]]; then
        pitr_target "$target"
        load_run "$group" 'penstock, tuned' tpcc "$TARGET/release/examples/replay" "$WORK/target/sock" "$WORK/state" "$LOGS" "$FROM" "$TO" "workers=$workers" tune
    fi
    pitr_target "$target"
    # shellcheck disable=SC2016 # variables of the inner shell
    load_run "$group" "$PIPE" tpcc bash -c '
        set -o pipefail
        from=$1 to=$2 file=$3 split=$4
        shift 4
        "${@:1:split}" --no-defaults --start-position="$from" --stop-position="$to" "$file" | "${@:split + 1}"' \
        _ "${FROM#*:}" "${TO#*:}" "$LOGS/${FROM%:*}" ${#BINLOG[@]} "${BINLOG[@]}" \
        "${CLIENT[@]}" --no-defaults --user=root --socket="$WORK/target/sock" --binary-mode --max-allowed-packet=1G
}
