# ./dev bench rows: dump, verify and load by SQL, against the tools that people use and against the limit.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_rows() {
    local flavour=mysql warehouses=10 runs=3 data=tpcc big=stock kind
    options rows 'flavour warehouses runs data' "$@"
    [[ $data == debian ]] && big=file_index
    bench_source "$warehouses" "$data"

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        rows_dump
        rows_one_table "$big"
        rows_verify
        rows_load
    done
    rows_goals

    kind=$FLAVOUR-$data
    [[ $data != tpcc || $warehouses == 10 ]] || kind+=-w$warehouses
    keep_report rows "$kind"
}

# drain_run GROUP NAME CONNECTIONS [OPTION…]: the limit. testkit reads the same rows and throws them away, or writes them
# to files as they come; its planning is not in the measured time.
drain_run() {
    local group=$1 name=$2 connections=$3 before after
    shift 3
    local seconds=0 cpu=0 rows=0 bytes=0
    settle
    before=$(ticks "$SOURCE_PID")
    read_values < <(testkit drain --socket "$SOURCE_SOCKET" --schema "$schema" --connections "$connections" "$@")
    after=$(ticks "$SOURCE_PID")
    record run "$group" "$name" "$seconds" "$cpu" - "$(as_hundredths $((after - before)))"
    record bytes "$group" "$bytes"
    say "$(printf '%-42s %-42s %7s s' "$group" "$name" "$seconds")"
}

rows_dump() {
    local group="dump, 2 workers" login=(--user root --socket "$SOURCE_SOCKET")
    local limit='limit: rows read by 2 connections'
    drain_run "$group" "$limit" 2
    mkdir "$WORK/drained"
    drain_run "$group" 'limit: the same, and written to files' 2 --to "$WORK/drained"
    rm -rf "$WORK"/{drained,dump-*}
    measure "$group" 'penstock, no compression' "$SOURCE_PID" \
        penstock dump "${login[@]}" --schemas "$schema" --threads 2 --compression none --to "$WORK/dump-none"
    measure "$group" 'penstock, zstd:1' "$SOURCE_PID" \
        penstock dump "${login[@]}" --schemas "$schema" --threads 2 --compression zstd:1 --to "$WORK/dump-zstd"
    if [[ -n $MYDUMPER ]]; then
        measure "$group" 'mydumper, no compression' "$SOURCE_PID" \
            "$MYDUMPER" "${login[@]}" --database "$schema" --threads 2 --outputdir "$WORK/dump-mydumper"
        if "$MYDUMPER" --help 2>&1 | grep -qi zstd; then
            measure "$group" 'mydumper, zstd' "$SOURCE_PID" \
                "$MYDUMPER" "${login[@]}" --database "$schema" --threads 2 --compress=ZSTD --outputdir "$WORK/dump-mydumper-zstd"
        fi
    fi
    # A pipe, so the shell is measured with both ends of it.
    # shellcheck disable=SC2016 # variables of the inner shell
    measure "$group" "${DUMP[-1]##*/} | zstd -1" "$SOURCE_PID" \
        bash -c 'set -o pipefail; to=$1; shift; "$@" | zstd -1 -q -o "$to"' _ "$WORK/dump-stock.sql.zst" \
        "${STOCK_DUMP[@]}" --databases "$schema"
    # What zstd alone takes for these rows: part of the least time that a compressed dump can take.
    if ((RUN == 1)); then
        cat "$WORK"/dump-none/*.tsv | /usr/bin/time -q -f '%U %S' -o "$WORK/time" zstd -1 -q --single-thread -c >/dev/null
        read -r user system <"$WORK/time"
        ZSTD_CPU=$(add_seconds "$user" "$system")
        record fact 'zstd -1 alone' "$ZSTD_CPU s of one core for these rows"
    fi
}

# One table alone has to keep both workers busy.
rows_one_table() {
    local table=$1 n group="dump of $1 alone" workers
    for n in 1 2; do
        workers="$n worker$( ((n == 1)) || echo s)"
        drain_run "$group" "limit: $n connection$( ((n == 1)) || echo s)" "$n" --table "$table"
        rm -rf "$WORK/dump-one"
        measure "$group" "penstock, $workers" "$SOURCE_PID" \
            penstock dump --user root --socket "$SOURCE_SOCKET" --tables "$schema.$table" --threads "$n" --compression none --to "$WORK/dump-one"
        rm -rf "$WORK/dump-one"
        measure "$group" "penstock zstd:1, $workers" "$SOURCE_PID" \
            penstock dump --user root --socket "$SOURCE_SOCKET" --tables "$schema.$table" --threads "$n" --to "$WORK/dump-one"
    done
    rm -rf "$WORK/dump-one"
}

rows_verify() {
    local group='verify, 2 workers'
    drain_run "$group" 'limit: rows read by 2 connections' 2
    measure "$group" 'penstock verify --against' "$SOURCE_PID" \
        penstock verify "$WORK/dump-zstd" --threads 2 --against "mysql://root@localhost/?socket=$SOURCE_SOCKET"
    measure "$group" 'penstock verify (offline)' "$SOURCE_PID" penstock verify "$WORK/dump-zstd" --threads 2
}

rows_load() {
    local group='SQL import, 2 workers' ddl="$WORK/ddl.sql" sql="$WORK/dump.sql" tab="$WORK/tab"
    if ((RUN == 1)); then
        say "the files that the other tools load"
        "${STOCK_DUMP[@]}" --no-data --databases "$schema" >"$ddl"
        "${STOCK_DUMP[@]}" --databases "$schema" >"$sql"
        mkdir -p "$tab"
        "${STOCK_DUMP[@]}" --tab="$tab" "$schema" # the server writes the files with the rows
    fi
    record bytes "$group" "$bytes"
    best_target
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$ddl"
    load_run "$group" 'limit: LOAD DATA of the same chunks' "$schema" \
        testkit stock-load "$FLAVOUR" --socket "$TARGET_SOCKET" --schema "$schema" --archive "$WORK/dump-none"
    best_target
    load_run "$group" 'penstock load --verify none' "$schema" penstock load "$WORK/dump-zstd" "${TO_TARGET[@]}" --import-mode sql --verify none
    best_target
    load_run "$group" 'penstock load, verified' "$schema" penstock load "$WORK/dump-zstd" "${TO_TARGET[@]}" --import-mode sql
    best_target
    fed_from "$sql" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
    load_run "$group" "${CLIENT[-1]##*/} < dump.sql" "$schema" "${FED_FROM[@]}"
    best_target
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$ddl"
    load_run "$group" "${IMPORT[-1]##*/} --use-threads=2" "$schema" "${IMPORT[@]}" "${TARGET_LOGIN[@]}" --use-threads=2 "$schema" "$tab"/*.txt
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        best_target
        load_run "$group" 'myloader' "$schema" "$MYLOADER" "${TO_TARGET[@]}" --directory "$WORK/dump-mydumper"
    fi
}

# The goals; the report says which are met.
rows_goals() {
    local limit='limit: rows read by 2 connections' dump='dump, 2 workers' load='SQL import, 2 workers'
    record goal "$dump" 'penstock, no compression' 1.25 "$limit"
    record goal "$dump" 'penstock, no compression' 1.15 "$limit"
    record goal "$dump" 'penstock, no compression' 1.15 'limit: the same, and written to files'
    record goal "$dump" 'penstock, no compression' 0.5 'mydumper, no compression'
    record goal "$dump" 'penstock, zstd:1' 0.42 'mydumper, zstd'
    # Reading and compressing, spread over two cores: the least time that this can take.
    local cpu
    cpu=$(awk -F '\t' -v group="$dump" -v name="$limit" -v zstd="$ZSTD_CPU" \
        '$1 == "run" && $2 == group && $3 == name { n++; sum += $5 + $7 } END { printf "%.2f", (sum / n + zstd) / 2 }' "$RUNS")
    record run "$dump" 'limit: reading and zstd on two full cores' "$cpu" - - -
    record goal "$dump" 'penstock, zstd:1' 1.1 'limit: reading and zstd on two full cores'
    record goal "dump of $big alone" 'penstock, 2 workers' 0.6 'penstock, 1 worker'
    record goal "dump of $big alone" 'penstock zstd:1, 2 workers' 0.6 'penstock zstd:1, 1 worker'
    record goal 'verify, 2 workers' 'penstock verify --against' 1.5 "$limit"
    record goal "$load" 'penstock load, verified' 1 "${IMPORT[-1]##*/} --use-threads=2"
    record goal "$load" 'penstock load --verify none' 1 "${IMPORT[-1]##*/} --use-threads=2"
}
