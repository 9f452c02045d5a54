# ./dev bench tables: dumps and loads of very many small tables: how time and memory grow with their number, and what share
# of the time goes neither into rows nor into definitions.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_tables() {
    local flavour=mysql tables='1250,2500,5000,10000' runs=3 partitions=1000 socket='' pid='' port='' load args n
    options tables 'flavour tables runs partitions' "$@"
    need_tools
    need /usr/bin/time:time
    need_flavour "$FLAVOUR"
    build penstock testkit
    RUNS="$WORK/runs.tsv"
    machine_load
    mapfile -t args < <(roomy "$FLAVOUR" 1G)
    for n in ${tables//,/ } "p$partitions"; do
        title "$(tables_named "$n")"
        read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/source" -- --server-id=1 --skip-log-bin "${args[@]}")
        SOURCE_SOCKET=$socket
        mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
        tables_made "$n" | "${CLIENT[@]}" --no-defaults --user=root --socket="$socket" >"$WORK/out"
        for ((RUN = 1; RUN <= runs; RUN++)); do
            rm -rf "$WORK/archive"
            settle
            tables_measured "$n" dump penstock dump --json --socket "$SOURCE_SOCKET" --user root --no-users --to "$WORK/archive"
            read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/target" -- --server-id=2 --skip-log-bin "${args[@]}")
            settle
            tables_measured "$n" load penstock load --json "$WORK/archive" --socket "$socket" --user root
            testkit server down --dir "$WORK/target" >"$WORK/out"
            rm -rf "$WORK/target"
        done
        testkit server down --dir "$WORK/source" >"$WORK/out"
        rm -rf "$WORK/source"
    done
    new_recording tables "$FLAVOUR"
    tables_report >"$RECORDING.md"
    sed -n '/^|/p' "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

tables_named() { [[ $1 == p* ]] && printf 'one table of %s partitions' "${1#p}" || printf '%s tables' "$1"; }

# Tables of 20 rows and two keys, in four schemas; or one of so many partitions.
tables_made() {
    awk -v n="$1" 'BEGIN {
        for (j = 0; j < 20; j++) rows = rows (j ? "," : "") "(" j ",\"row " j "\"," j % 7 ")"
        if (n ~ /^p/) {
            n = substr(n, 2)
            print "CREATE DATABASE many_0; USE many_0; CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(40), b INT, KEY (b)) PARTITION BY HASH (id) PARTITIONS " n ";"
            for (i = 0; i < n; i += 10) {
                line = ""
                for (j = 0; j < 200; j++) line = line (j ? "," : "") "(" i * 20 + j ",\"row\"," j ")"
                print "INSERT INTO t VALUES " line ";"
            }
            exit
        }
        for (s = 0; s < 4; s++) {
            print "CREATE DATABASE many_" s "; USE many_" s ";"
            for (i = 0; i < n / 4; i++)
                print "CREATE TABLE t" i " (id INT PRIMARY KEY, a VARCHAR(40), b INT, KEY (b)); INSERT INTO t" i " VALUES " rows ";"
        }
    }'
}

# Seconds of the phases with these names, of a summary.
tables_phases() {
    local names=$1
    grep -o '"phase":"[^"]*","seconds":[0-9.]*' "$WORK/summary" |
        awk -F '[":,]+' -v names="$names" 'index(names, "|" $3 "|") { sum += $5 } END { printf "%.3f", sum }'
}

tables_measured() {
    local n=$1 job=$2 all inside peak
    shift 2
    /usr/bin/time -q -f '%M' -o "$WORK/time" "$@" >"$WORK/out" 2>&1 </dev/null ||
        { tail -n 5 "$WORK/out" >&2; die "$job of $(tables_named "$n"): failed"; }
    grep '"event":"summary"' "$WORK/out" | tail -n 1 >"$WORK/summary"
    all=$(sed 's/.*"seconds":\([0-9.]*\)}$/\1/' "$WORK/summary")
    inside=$(tables_phases '|reading definitions|dumping rows|creating tables|loading rows|adding indexes|')
    peak=$(<"$WORK/time")
    record "$n" "$job" "$all" "$inside" "$peak"
    say "$(printf '%-5s of %-28s %8.2f s, %8.2f s of them rows and definitions' "$job" "$(tables_named "$n")" "$all" "$inside")"
}

tables_report() {
    printf '# Measured runs: very many tables\n\n'
    printf -- '- date: %s\n- machine: %s\n- server: %s\n- penstock: %s\n- data: %s\n\n' "$(date -u +%FT%RZ)" \
        "$(nproc) cores, Linux $(uname -r), load at the start $load" \
        "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), unix socket" \
        "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')" \
        "tables of 20 rows with a primary and a secondary key, in four schemas; $runs runs"
    printf 'Median, and least and most of the runs. "Other" is the share of the time that goes neither into definitions (read, created) nor into rows.\n\n'
    printf '| what | dump, s | a table, ms | other, %% | peak memory, MB | load, s | a table, ms | other, %% | peak memory, MB |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n'
    local n job count
    for n in ${tables//,/ } "p$partitions"; do
        count=${n#p}
        printf '| %s |' "$(tables_named "$n")"
        for job in dump load; do
            awk -F '\t' -v n="$n" -v job="$job" -v count="$count" '
                function med(a, k,   i, j, t) {
                    for (i = 2; i <= k; i++) for (j = i; j > 1 && a[j] < a[j-1]; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t }
                    lo = a[1]; hi = a[k]
                    return k % 2 ? a[(k + 1) / 2] : (a[k / 2] + a[k / 2 + 1]) / 2
                }
                $1 == n && $2 == job { k++; s[k] = $3; o[k] = ($3 - $4) / $3 * 100; if ($5 > p) p = $5 }
                END {
                    m = med(s, k)
                    line = sprintf(" %.2f (%.2f … %.2f) | %.2f |", m, lo, hi, m / count * 1000)
                    printf "%s", line sprintf(" %.0f | %.0f |", med(o, k), p / 1000)
                }' "$RUNS"
        done
        printf '\n'
    done
}
