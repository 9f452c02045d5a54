# ./dev bench files: dumps whose rows come from InnoDB's files, beside a dump by SQL and beside the limit of SQL: time, and what
# it takes of the server's processor.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev, of bench/shared.sh and of bench/machine.sh

bench_files() {
    local flavour=mysql warehouses=10 runs=3 kind program socket='' pid=0 port='' args
    options files 'flavour warehouses runs' "$@"
    # shellcheck source=bench/machine.sh
    source bench/machine.sh
    need_tools
    need /usr/bin/time:time
    need_flavour "$FLAVOUR"
    build penstock testkit
    RUNS="$WORK/runs.tsv"
    export PENSTOCK_STATE="$WORK/state"
    machine_load
    bench_facts "$warehouses" tpcc
    loop_directory volume 16G xfs || die 'no file system that shares blocks' "$LACKING"
    record fact 'files' 'XFS with reflinks on a loop device; all of them in the page cache'
    program=$(testkit program "$FLAVOUR" "$WORK/program")
    mapfile -t args < <(roomy "$FLAVOUR" 2G)
    read_values < <(testkit server up "$FLAVOUR" --dir "$LOOP_DIRECTORY/source" -- "${args[@]}" --log-bin=binlog --server-id=1)
    ((pid)) || die 'the server did not start'
    SOURCE_SOCKET=$socket SOURCE_PID=$pid
    at_end testkit server down --dir "$LOOP_DIRECTORY/source"
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    record fact data "TPC-C: $(as_count "$rows") rows, $((bytes / 1000000)) MB as text"
    testkit drain --socket "$SOURCE_SOCKET" --schema tpcc >"$WORK/out"

    # It replicates from a server that has nothing, so that its applier can be stopped.
    read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/upstream" --port -- --server-id=2 --log-bin=binlog)
    follow "$socket" "$port" "$SOURCE_SOCKET"
    testkit sql --socket "$SOURCE_SOCKET" 'START REPLICA' >"$WORK/out"

    # shellcheck source=bench/rows/run.sh
    source bench/rows/run.sh
    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs, the server running"
        drain_run "$(files_group none)" 'limit: rows read by 2 connections' 2
        drain_run "$(files_group zstd:1)" 'limit: rows read by 2 connections' 2
        files_dumps 'penstock dump, by SQL' "$SOURCE_PID" --socket "$SOURCE_SOCKET" --user root
        files_dumps 'penstock dump --from-snapshot' "$SOURCE_PID" --socket "$SOURCE_SOCKET" --user root --from-snapshot reflink --mysqld "$program"
        files_dumps 'penstock dump --from-replica-files' "$SOURCE_PID" --socket "$SOURCE_SOCKET" --user root --from-replica-files
    done
    # Cleanly, and its files stay.
    testkit sql --socket "$SOURCE_SOCKET" SHUTDOWN >"$WORK/out"
    while [[ -e /proc/$SOURCE_PID ]]; do sleep 0.1; done
    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs, the server shut down"
        files_dumps 'penstock dump --from-files' 0 --from-files "$LOOP_DIRECTORY/source/data" --mysqld "$program"
    done
    # Files of MySQL describe themselves.
    [[ $FLAVOUR == mariadb ]] || files_pages order_line stock
    # The goals: times as fast, so a part of the time.
    record goal "$(files_group none)" 'penstock dump --from-replica-files' 0.4 'penstock dump, by SQL'
    record goal "$(files_group zstd:1)" 'penstock dump --from-replica-files' 0.63 'penstock dump, by SQL'
    record goal "$(files_group none)" 'penstock dump --from-files' 0.4 'penstock dump, by SQL'
    record goal "$(files_group zstd:1)" 'penstock dump --from-files' 0.63 'penstock dump, by SQL'
    kind=$FLAVOUR-tpcc
    ((warehouses == 10)) || kind+=-w$warehouses
    keep_report files "$kind"
}

# files_pages TABLE…: what one thread reads of the pages of a table.
files_pages() {
    local table digest=0 lines=0 both=0
    for table in "$@"; do
        read_values < <(testkit pages "$LOOP_DIRECTORY/source/data/tpcc/$table.ibd")
        ((digest && lines && both)) || die "the pages of $table cannot be read"
        record fact "$table, pages read by one thread" "$digest MB/s to digests of rows (goal: 700), $lines MB/s to lines (goal: 500), $both MB/s to both"
        say "$table: $digest MB/s to digests, $lines MB/s to lines, $both MB/s to both"
    done
}

files_group() {
    case $1 in
    none) printf 'dump, 2 workers, without compression' ;;
    *) printf 'dump, 2 workers, %s' "$1" ;;
    esac
}

# files_dumps NAME SERVER_PID ARGUMENT…: a dump without compression, and one with.
files_dumps() {
    local name=$1 pid=$2 compression
    shift 2
    for compression in none zstd:1; do
        rm -rf "$WORK/dump"
        measure "$(files_group "$compression")" "$name" "$pid" \
            penstock dump --quiet --schemas tpcc --threads 2 --compression "$compression" --no-users --to "$WORK/dump" "$@"
    done
    rm -rf "$WORK/dump"
}
