# ./dev bench forecast: how far off forecasts are. TPC-C of several sizes and a wide table are dumped, and loaded by each
# import mode, with an empty history, after one run of another size, and after three.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_forecast() {
    local flavour=mysql sizes=1,2,4 wide=300 programs=release modes=sql,tablespace,offline list=() size
    options forecast 'flavour sizes wide programs modes' "$@"
    [[ $programs == release || $programs == debug ]] || die "--programs $programs" 'release or debug'
    need_tools
    need jq:jq
    need_flavour "$FLAVOUR"
    forecast_programs
    RUNS="$WORK/runs.tsv"
    machine_load
    bench_facts "$sizes" tpcc
    IFS=, read -ra list <<<"$sizes"
    local args=()
    mapfile -t args < <(roomy "$FLAVOUR" 2G)
    server source "$FLAVOUR" "${args[@]}"
    for size in "${list[@]}"; do
        say "filling TPC-C tables, $size warehouses"
        testkit tpcc load --socket "$SOURCE_SOCKET" --warehouses "$size" --schema "w$size" >"$WORK/out"
    done
    ((wide == 0)) || forecast_wide
    # What runs is one thing: a run before, which is not kept, has read everything once.
    : >"$WORK/table"
    forecast_of_dumps "${list[@]}"
    IFS=, read -ra MODES <<<"$modes"
    for MODE in "${MODES[@]}"; do forecast_of_loads "${list[@]}"; done
    {
        printf '# How far off forecasts are, %s\n\n' "$FLAVOUR"
        awk -F '\t' '$1 == "fact" && $2 ~ /^(date|machine|server|penstock|warehouses)$/ { print "- " $2 ": " $3 }' "$RUNS"
        [[ $programs == release ]] || printf -- '- programs: without optimisation (debug)\n'
        # shellcheck disable=SC2016 # no expansion is meant
        printf -- '- `wide`: a table of %s columns, 20,000 rows\n' "$wide"
        printf -- '- earlier runs: of the other sizes, each in its own history; the error is (took ÷ forecast − 1)\n'
        printf '\n| run | data | earlier runs | forecast s | range | took s | error | in range |\n|---|---|--:|--:|---|--:|--:|---|\n'
        cat "$WORK/table"
        printf '\n| earlier runs | forecasts | within 25 %% | in their range | median error | largest |\n|--:|--:|--:|--:|--:|--:|\n'
        forecast_summary
    } | tee "$WORK/forecast.md"
    local kind=$FLAVOUR
    [[ $programs == release ]] || kind+=-debug
    new_recording forecast "$kind"
    cp "$WORK/forecast.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

# The programs: with optimisation, unless only the benchmark itself is tried out.
forecast_programs() {
    if [[ $programs == release ]]; then
        build penstock testkit
        return
    fi
    say 'building penstock, testkit (debug)'
    cargo_build --workspace
    PATH=$PWD/target/debug:$PATH
}

# A table whose rows are many short columns.
forecast_wide() {
    local columns n values=() names=()
    for ((n = 1; n <= wide; n++)); do
        names+=("c$n INT")
        values+=("n % $((n + 7))")
    done
    columns=$(IFS=,; printf '%s' "${names[*]}")
    values=("$(IFS=,; printf '%s' "${values[*]}")")
    say "filling a table of $wide columns"
    testkit sql --socket "$SOURCE_SOCKET" 'CREATE DATABASE wide' >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" "CREATE TABLE wide.t (id INT PRIMARY KEY, $columns)" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" "INSERT INTO wide.t SELECT n, ${values[0]} FROM (
        SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n FROM $(forecast_digits a), $(forecast_digits b), $(forecast_digits c),
        (SELECT n FROM $(forecast_digits x) UNION ALL SELECT n + 10 FROM $(forecast_digits y)) AS d) AS numbers" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" 'ANALYZE TABLE wide.t' >"$WORK/out"
}

forecast_digits() {
    printf '(SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9) AS %s' "$1"
}

# forecast_of_dumps SIZE…: each dump after none, one and three runs of other data.
forecast_of_dumps() {
    local data=() one
    for one in "$@"; do data+=("w$one"); done
    ((wide == 0)) || data+=(wide)
    PENSTOCK_STATE="$WORK/warm" forecast_dump "${data[-1]}" >/dev/null
    for one in "${data[@]}"; do forecast_after dump "$one" "${data[@]}"; done
}

forecast_of_loads() {
    local data=() one
    for one in "$@"; do data+=("w$one"); done
    ((wide == 0)) || data+=(wide)
    for one in "${data[@]}"; do
        [[ -e $WORK/archive-$one/penstock.json ]] ||
            penstock dump --quiet --no-history --no-defaults --socket "$SOURCE_SOCKET" --user root --threads 2 --schemas "$one" --to "$WORK/archive-$one" >"$WORK/out"
    done
    for one in "${data[@]}"; do forecast_after load "$one" "${data[@]}"; done
}

# forecast_after JOB DATA ALL…: JOB of DATA with an empty history, after one run of other data, and after three.
forecast_after() {
    local job=$1 data=$2 other others=() n
    shift 2
    for other in "$@"; do [[ $other == "$data" ]] || others+=("$other"); done
    for n in 0 1 3; do
        rm -rf "$WORK/state"
        for ((k = 0; k < n; k++)); do
            PENSTOCK_STATE="$WORK/state" "forecast_$job" "${others[k % ${#others[@]}]}" >"$WORK/out"
        done
        PENSTOCK_STATE="$WORK/state" "forecast_$job" "$data" >"$WORK/summary"
        forecast_line "$job" "$data" "$n"
    done
}

# forecast_dump DATA: dumps a schema; prints its summary.
forecast_dump() {
    rm -rf "$WORK/dump"
    settle
    penstock dump --json --quiet --no-defaults --socket "$SOURCE_SOCKET" --user root --threads 2 --schemas "$1" --to "$WORK/dump" | tail -n 1
}

# forecast_load DATA: loads its archive into a target without data by the import mode; prints its summary. Offline is into
# a new data directory, whose server is stopped for the import.
forecast_load() {
    local how=(--json --quiet --threads 2)
    settle
    if [[ $MODE == offline ]]; then
        rm -rf "$WORK/made"
        penstock load "$WORK/archive-$1" "${how[@]}" --datadir "$WORK/made" --mysqld "$(testkit program "$FLAVOUR" "$WORK/program")" | tail -n 1
        rm -rf "$WORK/made"
        return
    fi
    [[ -n ${TARGET_UP:-} ]] || {
        local args
        mapfile -t args < <(roomy "$FLAVOUR" 2G)
        server target "$FLAVOUR" --server-id=2 --skip-log-bin "${args[@]}"
        TARGET_UP=1
    }
    penstock load "$WORK/archive-$1" "${how[@]}" --no-defaults --socket "$TARGET_SOCKET" --user root --import-mode "$MODE" | tail -n 1
    testkit sql --socket "$TARGET_SOCKET" "DROP DATABASE $1" >"$WORK/out"
}

# forecast_line JOB DATA EARLIER: a line of the table, of the summary of a run.
forecast_line() {
    local job=$1
    [[ $job == dump ]] || job="load, $MODE"
    jq -r --arg job "$job" --arg data "$2" --arg earlier "$3" '.forecast
        | [$job, $data, $earlier, (.seconds * 10 | round / 10), "\(.low * 10 | round / 10)–\(.high * 10 | round / 10)",
           (.took * 10 | round / 10), "\(.error * 100 | round) %", (if .took >= .low and .took <= .high then "yes" else "no" end)]
        | "| " + (map(tostring) | join(" | ")) + " |"' "$WORK/summary" | tee -a "$WORK/table"
}

# For each number of earlier runs: how many forecasts were close.
forecast_summary() {
    local n
    for n in 0 1 3; do
        awk -F ' *[|] *' -v n="$n" '$4 == n {
            e = $8; sub(/ %/, "", e); e = e < 0 ? -e : e + 0; errors[++count] = e
            if (e <= 25) close_to++; if ($9 == "yes") inside++; if (e > most) most = e }
        END {
            for (i = 1; i <= count; i++) for (j = i + 1; j <= count; j++) if (errors[j] < errors[i]) { t = errors[i]; errors[i] = errors[j]; errors[j] = t }
            printf "| %d | %d | %d | %d | %d %% | %d %% |\n", n, count, close_to, inside, errors[int((count + 1) / 2)], most }' "$WORK/table"
    done
}
