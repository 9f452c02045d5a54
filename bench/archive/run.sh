# ./dev bench archive: what it costs to follow a server's binary log, in processor time, beside mysqlbinlog --raw. The
# workload has a fixed rate, so that all followers get the same log; what it reaches without a limit differs by more from
# one minute to the next than any of them costs.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_archive() {
    local flavour=mysql warehouses=4 runs=5 seconds=20 rate=500 connections=8 socket='' pid='' port=''
    local load args follower name kind='Binlog Dump'
    options archive 'flavour warehouses runs seconds rate connections' "$@"
    need_tools
    need_flavour "$FLAVOUR"
    build penstock testkit
    RUNS="$WORK/runs.tsv"
    machine_load
    mapfile -t args < <(roomy "$FLAVOUR" 1G)
    read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/source" -- --server-id=1 --log-bin=binlog \
        --innodb-flush-log-at-trx-commit=1 --sync-binlog=1 "${args[@]}")
    SOURCE_SOCKET=$socket
    name=mysqlbinlog
    [[ $FLAVOUR == mysql ]] || name=mariadb-binlog
    mapfile -t BINLOG < <(testkit client "$FLAVOUR" "$name")
    say "TPC-C with $warehouses warehouses"
    testkit tpcc load --socket "$socket" --warehouses "$warehouses" >"$WORK/out"
    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        for follower in nobody "$name --raw" 'penstock binlog archive'; do
            archive_followed "$follower"
        done
    done
    testkit server down --dir "$WORK/source" >"$WORK/out"
    new_recording archive "$FLAVOUR"
    archive_table >"$RECORDING.md"
    sed -n '/^|/p' "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

# One window: a follower that begins with an empty file of the log, and TPC-C.
archive_followed() {
    local follower=$1 from to thread='' thread_before=0 before after me=0 sql
    rm -rf "$WORK/repository" "$WORK/raw"
    mkdir "$WORK/raw"
    testkit sql --socket "$socket" 'FLUSH BINARY LOGS' >"$WORK/out"
    from=$(archive_newest)
    case $follower in
    penstock*)
        penstock init --quiet "$WORK/repository" >"$WORK/out"
        penstock binlog archive measured --quiet --socket "$socket" --user root --start newest \
            --repository "$WORK/repository" >"$WORK/follower" 2>&1 </dev/null &
        me=$!
        ;;
    *--raw)
        "${BINLOG[@]}" --no-defaults --read-from-remote-server --raw --stop-never --socket="$socket" --user=root \
            --result-file="$WORK/raw/" "$from" >"$WORK/follower" 2>&1 </dev/null &
        me=$!
        ;;
    esac
    sleep 2
    if ((me)); then
        [[ -d /proc/$me ]] || { cat "$WORK/follower" >&2; die "$follower: ended"; }
        sql="SELECT MAX(TID) FROM information_schema.PROCESSLIST WHERE COMMAND = 'Binlog Dump'"
        [[ $FLAVOUR == mariadb ]] ||
            sql="SELECT MAX(THREAD_OS_ID) FROM performance_schema.threads WHERE PROCESSLIST_COMMAND LIKE 'Binlog Dump%'"
        thread=/proc/$pid/task/$(testkit sql --socket "$socket" "$sql" | tail -n 1)/stat
        [[ -r $thread ]] || die "$follower: the server has no thread that sends its log"
        thread_before=$(archive_ticks "$thread")
        before=$(ticks "$me")
    fi
    penstock bench tpcc run --quiet --socket "$socket" --user root --connections "$connections" --rate "$rate" \
        --ramp 1s --measure "${seconds}s" >"$WORK/out"
    # What it may still have to read.
    sleep 1
    to=$(archive_size "$from")
    if ((me)); then
        record "$follower" "$(($(archive_ticks "$thread") - thread_before))" "$(($(ticks "$me") - before))" "$to" \
            "$(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$me/status")"
        kill -TERM "$me"
        wait "$me" 2>"$WORK/out" || true
        say "$(printf '%-28s %4s + %4s hundredths of a second for %d MB' "$follower" \
            "$(tail -n 1 "$RUNS" | cut -f 2)" "$(tail -n 1 "$RUNS" | cut -f 3)" $((to / 1000000)))"
    fi
    # Without the server's word for it, a follower that stopped would look cheap.
    case $follower in
    penstock*) grep -q "archived .*$from" "$WORK/follower" || { cat "$WORK/follower" >&2; die "$follower: nothing is archived"; } ;;
    *--raw) (($(stat -c %s "$WORK/raw/$from") >= to)) || die "$follower: $from is not complete" ;;
    esac
}

archive_ticks() {
    local stat
    stat=$(<"$1")
    read -ra stat <<<"${stat##*) }"
    printf '%s' $((stat[11] + stat[12]))
}

archive_newest() { testkit sql --socket "$socket" 'SHOW BINARY LOGS' | tail -n 1 | cut -f 1; }
archive_size() { testkit sql --socket "$socket" 'SHOW BINARY LOGS' | awk -F '\t' -v f="$1" '$1 == f { print $2 }'; }

# Medians and spread of all runs, by follower.
archive_table() {
    printf '# Measured runs: what it costs to follow a binary log\n\n'
    printf -- '- date: %s\n- machine: %s\n- server: %s\n- penstock: %s\n- workload: %s\n\n' "$(date -u +%FT%RZ)" \
        "$(nproc) cores, Linux $(uname -r), load at the start $load" \
        "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), commits and binary log synced, unix socket" \
        "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')" \
        "TPC-C, $warehouses warehouses, $rate transactions a second on $connections connections, $seconds s, $runs runs"
    printf "Per cent of one core: the server's thread that sends the log, and the program that follows it.\n\n"
    printf '| follower | sends, %% | follows, %% | together, %% | for each 10 MB of log, s | peak memory, MB |\n|---|--:|--:|--:|--:|--:|\n'
    # The window is a second of ramp-up and one behind it longer.
    for follower in "$name --raw" 'penstock binlog archive'; do
        awk -F '\t' -v f="$follower" -v window=$((seconds + 2)) '
            function med(a, n,   i, j, t) {
                for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j-1]; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t }
                lo = a[1]; hi = a[n]
                return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2
            }
            $1 == f { n++; s[n] = $2 / window; w[n] = $3 / window; b[n] = ($2 + $3) / window; m[n] = ($2 + $3) / 100 / ($4 / 1e7); if ($5 > p) p = $5 }
            END {
                line = "| " f " |"
                line = line sprintf(" %.2f |", med(s, n))
                line = line sprintf(" %.2f |", med(w, n))
                line = line sprintf(" %.2f", med(b, n)) sprintf(" (%.2f … %.2f) |", lo, hi)
                line = line sprintf(" %.3f |", med(m, n)) sprintf(" %.0f |", p / 1000)
                print line
            }' "$RUNS"
    done
}
