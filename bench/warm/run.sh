# ./dev bench warm: sample queries on a live server, and on a new one with the same rows: cold, after penstock warm load,
# after all indexes were read, and on the live server's own files after its own list was loaded.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_warm() {
    local flavour=mysql warehouses=6 seconds=30 connections=4 queries=20000 memory=128M runs=3
    options warm 'flavour warehouses seconds connections queries memory runs' "$@"
    need_tools
    need_flavour "$FLAVOUR"
    build penstock testkit
    RUNS="$WORK/runs.tsv"
    machine_load
    bench_facts "$warehouses" tpcc
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    export PENSTOCK_STATE="$WORK/state"
    # `fill` has variables of the same names.
    local of_tpcc=$seconds of_warehouses=$warehouses kind
    warm_fact pool "$memory"
    warm_fact sample "$queries queries, one connection, about a seventh of the keys, in blocks of 50, with a skew"
    local args=(--innodb-buffer-pool-size="$memory" --innodb-flush-method=O_DIRECT --innodb-flush-log-at-trx-commit=0
        --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-pct=100)

    server source "$FLAVOUR" "${args[@]}" --server-id=1
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    server target "$FLAVOUR" "${args[@]}" --server-id=2
    say "a new server with the same rows: dump and load"
    penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas tpcc --to "$WORK/archive" >"$WORK/out"
    penstock load "$WORK/archive" --quiet --socket "$TARGET_SOCKET" --user root --verify none >"$WORK/out"
    warm_queries "$of_warehouses" "$queries" >"$WORK/sample.sql"

    say "TPC-C for $of_tpcc s, then the sample queries, on the live server"
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$connections" --ramp 1s --measure "${of_tpcc}s" >"$WORK/out"
    warm_sample "$SOURCE_SOCKET"
    warm_sample "$SOURCE_SOCKET"
    local begin run
    begin=$(now)
    penstock warm save --quiet --json --socket "$SOURCE_SOCKET" --user root --to "$WORK/hot" >"$WORK/saved" || (($? == 3)) # the table of the history has no key
    took=$(($(now) - begin))
    HOT=$(($(sed -n 's/.*"placed":\([0-9]*\).*/\1/p' "$WORK/saved") * 16384))
    warm_fact 'warm save' "$(as_seconds "$took") s, $(stat -c %s "$WORK/hot") bytes for $((HOT / 1000000)) MB of hot leaves"

    for ((run = 1; run <= runs; run++)); do
        say "run $run of $runs"
        warm_line 'live server' "$SOURCE_SOCKET" :
        warm_restart target
        warm_line 'new server, cold' "$TARGET_SOCKET" :
        warm_restart target
        warm_line 'penstock warm load' "$TARGET_SOCKET" penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --from "$WORK/hot"
        # Everything else was read before: what a load leaves in memory.
        warm_restart target
        penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --whole-indexes >"$WORK/out"
        warm_line 'penstock warm load, into a full pool' "$TARGET_SOCKET" penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --from "$WORK/hot"
        warm_restart target
        penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --whole-indexes >"$WORK/out"
        warm_line 'the same with --one-reading' "$TARGET_SOCKET" penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --from "$WORK/hot" --one-reading
        warm_restart target
        warm_line 'whole indexes' "$TARGET_SOCKET" penstock warm load --quiet --socket "$TARGET_SOCKET" --user root --whole-indexes
    done
    # The list of the live server fits its own files only. It is written at each end, of what is hot then.
    for ((run = 1; run <= runs; run++)); do
        warm_restart source
        warm_line 'its own list, on its own files' "$SOURCE_SOCKET" warm_own_list
    done
    warm_sequential

    {
        printf '# Warm-up, %s\n\n' "$FLAVOUR"
        # shellcheck disable=SC2016 # no expansion is meant
        printf 'Sample queries on a live server and on a new one with the same rows, loaded by SQL; `./dev bench warm`.\n\n'
        awk -F '\t' '$1 == "fact" && $2 ~ /^(date|machine|server|penstock|pool|sample|warm save|sequential reader)$/ { print "- " $2 ": " $3 }' "$RUNS"
        printf '\n| server | warm-up | read for it | of the hot leaves | sample queries | of the live server | pages read by them |\n|---|--:|--:|--:|--:|--:|--:|\n'
        warm_table
        printf '\nMedians of %s runs; least and most in parentheses.\n' "$runs"
    } | tee "$WORK/warm.md"
    kind=$FLAVOUR
    ((of_warehouses == 6)) || kind+=-w$of_warehouses
    new_recording warm "$kind"
    cp "$WORK/warm.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

warm_fact() { record fact "$1" "$2"; say "$1: $2"; }

# warm_queries WAREHOUSES COUNT: statements about customers, stock and orders. A seventh of the blocks of keys is asked for,
# some of them far more often than others; they lie anywhere in the index.
warm_queries() {
    awk -v w="$1" -v n="$2" 'BEGIN {
        srand(25)
        for (i = 0; i < n; i++) {
            warehouse = 1 + int(rand() * w); district = 1 + int(rand() * 10)
            customer = 1 + (int(60 * rand() ^ 2 / 7) * 37 + district * 11 + warehouse * 7) % 60 * 50 + int(rand() * 50)
            item = 1 + (int(2000 * rand() ^ 2 / 7) * 1237 + warehouse * 101) % 2000 * 50 + int(rand() * 50)
            kind = i % 3
            if (kind == 0) printf "SELECT c_balance, LENGTH(c_data) FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d;\n", warehouse, district, customer
            if (kind == 1) printf "SELECT s_quantity, LENGTH(s_data) FROM stock WHERE s_w_id = %d AND s_i_id = %d;\n", warehouse, item
            if (kind == 2) printf "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id BETWEEN %d AND %d;\n", warehouse, district, customer, customer + 5
        }
    }'
}

warm_sample() { "${CLIENT[@]}" --no-defaults --user=root --socket="$1" tpcc <"$WORK/sample.sql" >"$WORK/out"; }

# A counter of a server.
warm_counter() { testkit sql --socket "$1" "SHOW GLOBAL STATUS LIKE '$2'" | awk '{ print $2 }'; }

# warm_line NAME SOCKET COMMAND…: runs the warm-up, then the sample queries, and records both.
warm_line() {
    local name=$1 socket=$2 begin warmed sampled before read pages
    shift 2
    before=$(warm_counter "$socket" Innodb_data_read)
    begin=$(now)
    "$@" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die "$name: the warm-up failed"; }
    warmed=$(($(now) - begin))
    read=$(($(warm_counter "$socket" Innodb_data_read) - before))
    pages=$(warm_counter "$socket" Innodb_pages_read)
    begin=$(now)
    warm_sample "$socket"
    sampled=$(($(now) - begin))
    pages=$(($(warm_counter "$socket" Innodb_pages_read) - pages))
    if [[ $1 == : ]]; then warmed=- read=-; fi
    printf '%s\t%s\t%s\t%s\t%s\n' "$name" "$warmed" "$read" "$sampled" "$pages" >>"$WORK/lines.tsv"
    if [[ $1 == : ]]; then warmed=0; fi
    say "$(printf '%-38s warm-up %6s s, sample queries %5s s, %s pages' "$name" "$(as_seconds "$warmed")" "$(as_seconds "$sampled")" "$pages")"
}

# The time that a sequential reader needs for as many bytes as the hot leaves have: from a file of the server, past the
# page cache.
warm_sequential() {
    local file begin
    file=$(find "$WORK/target" -name 'order_line.ibd' | head -n 1)
    begin=$(now)
    dd if="$file" of=/dev/null bs=1M count=$((HOT / 1048576)) iflag=direct 2>"$WORK/out" || { cat "$WORK/out" >&2; return 0; }
    warm_fact 'sequential reader' "$(as_seconds $(($(now) - begin))) s for $(($(stat -c %s "$file") < HOT ? $(stat -c %s "$file") / 1000000 : HOT / 1000000)) MB of one file, O_DIRECT"
}

# The table of all runs, in the order of their first lines.
warm_table() {
    awk -F '\t' -v hot="$HOT" '
        function sorted(name, field, n,    i, j, t, list) {
            split(values[name, field], list, " ")
            for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] + 0 > list[j] + 0; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
            least = list[1]; most = list[n]
            return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
        }
        { if (!($1 in runs)) names[++count] = $1; runs[$1]++; for (f = 2; f <= 5; f++) values[$1, f] = values[$1, f] " " $f }
        END {
            for (k = 1; k <= count; k++) {
                name = names[k]; n = runs[name]
                sampled = sorted(name, 4, n) / 1e6; spread = sprintf("%.2f-%.2f", least / 1e6, most / 1e6)
                if (k == 1) live = sampled
                pages = sorted(name, 5, n)
                warmed = "-"; read = "-"; share = "-"
                if (values[name, 2] !~ /-/) {
                    warmed = sprintf("%.2f s", sorted(name, 2, n) / 1e6)
                    bytes = sorted(name, 3, n); read = sprintf("%d MB", bytes / 1e6); share = sprintf("%.2f", bytes / hot)
                }
                printf "| %s | %s | %s | %s | %.2f s (%s) | %.2f | %d |\n", name, warmed, read, share, sampled, spread, sampled / live, pages
            }
        }' "$WORK/lines.tsv"
}

# Has a server load the list that it wrote when it was shut down, and waits for the end.
warm_own_list() {
    testkit sql --socket "$SOURCE_SOCKET" 'SET GLOBAL innodb_buffer_pool_load_now = ON'
    until warm_loaded; do sleep 0.1; done
}
warm_loaded() { testkit sql --socket "$SOURCE_SOCKET" "SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'" | grep -q completed; }

# warm_restart NAME: shuts a server of this run down and starts the same command again: its buffer pool is empty then.
warm_restart() {
    local pid=${1^^}_PID socket=${1^^}_SOCKET command environment
    pid=${!pid} socket=${!socket}
    mapfile -d '' -t command <"/proc/$pid/cmdline"
    mapfile -d '' -t environment <"/proc/$pid/environ"
    testkit sql --socket "$socket" SHUTDOWN >"$WORK/out" 2>&1 || true
    while [[ -e /proc/$pid ]]; do sleep 0.1; done
    (cd "$WORK/$1" && exec setsid env -i "${environment[@]}" "${command[@]}" >>"$WORK/$1/log" 2>&1 </dev/null) &
    pid=$!
    sed -i "s/^pid=.*/pid=$pid/" "$WORK/$1/state"
    printf -v "${1^^}_PID" '%s' "$pid"
    until testkit sql --socket "$socket" 'SELECT 1' >"$WORK/out" 2>&1; do
        [[ -e /proc/$pid ]] || { tail -n 5 "$WORK/$1/log" >&2; die "$1 did not start again"; }
        sleep 0.1
    done
}
