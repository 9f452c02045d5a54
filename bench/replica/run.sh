# ./dev bench replica: penstock replica create while TPC-C runs on the source: does it end caught up and equal, how long
# does each step take, and how many new orders does the source lose meanwhile.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_replica() {
    local flavour=mysql by=gtid warehouses=10 connections=2 alone=30 impact=10% rate=0 port=0 socket='' pid=0 kind
    options replica 'flavour by warehouses connections alone impact rate' "$@"
    [[ $by == gtid || $by == position ]] || die "--by $by" 'gtid or position'
    [[ $FLAVOUR == mysql || $by == gtid ]] || die '--by position' 'MariaDB replicates by GTIDs here'
    need_tools
    need_flavour "$FLAVOUR"
    build penstock testkit
    RUNS="$WORK/runs.tsv"
    machine_load
    bench_facts "$warehouses" tpcc
    export PENSTOCK_STATE="$WORK/state"
    local args=() of_warehouses=$warehouses
    mapfile -t args < <(roomy "$FLAVOUR" 1G)
    case $by-$FLAVOUR in
    gtid-mysql) args+=(--gtid-mode=ON --enforce-gtid-consistency=ON) ;;
    # It is on by default in some versions.
    position-mysql) args+=(--gtid-mode=OFF --enforce-gtid-consistency=OFF) ;;
    esac
    read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/source" --port -- "${args[@]}" --server-id=1)
    ((pid)) || die 'the source did not start'
    SOURCE_SOCKET=$socket SOURCE_PID=$pid SOURCE_PORT=$port
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    server target "$FLAVOUR" "${args[@]}" --server-id=2 --read-only=ON

    say "TPC-C on the source, $connections connections"
    local pace=()
    ((rate == 0)) || pace=(--rate "$rate")
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$connections" "${pace[@]}" --ramp 1s --measure 2h >"$WORK/tpcc" 2>&1 &
    local load=$! code=0
    BACKGROUND+=("$load")
    sleep 5
    replica_begin
    sleep "$alone"
    replica_line 'the source alone'
    replica_begin
    # The unix socket is for penstock; the new server finds its source by TCP.
    penstock replica create "mysql://root@localhost/?socket=$SOURCE_SOCKET" "mysql://root@localhost/?socket=$TARGET_SOCKET" \
        --source-address "127.0.0.1:$SOURCE_PORT" --threads 2 --max-impact "$impact" --no-defaults >"$WORK/created" 2>"$WORK/said" || code=$?
    replica_line "penstock replica create --max-impact $impact"
   
    replica_begin
    sleep "$alone"
    replica_line 'the source with its new replica'
    kill -INT "$load" 2>/dev/null || true
    wait "$load" || true
    BACKGROUND=()
    ((code == 0)) || { cat "$WORK/said" "$WORK/created" >&2; }

    {
        printf '# A new replica under load, %s, by %s\n\n' "$FLAVOUR" "$by"
        # shellcheck disable=SC2016 # no expansion is meant
        printf 'TPC-C runs on the source all the time, source and replica share the cores; `./dev bench replica`.\n\n'
        awk -F '\t' '$1 == "fact" && $2 ~ /^(date|machine|server|penstock)$/ { print "- " $2 ": " $3 }' "$RUNS"
        printf -- '- data: TPC-C, %s warehouses; load: %s connections%s\n' "$of_warehouses" "$connections" "${pace[1]:+, ${pace[1]} transactions a second}"
        printf '\n| | seconds | new orders a minute | of the source alone |\n|---|--:|--:|--:|\n'
        cat "$WORK/table"
        # shellcheck disable=SC2016 # no expansion is meant
        printf '\n`penstock replica create` ended with code %s and said:\n\n```\n' "$code"
        cat "$WORK/created"
        printf '```\n'
    } | tee "$WORK/replica.md"
    kind=$FLAVOUR-$by
    ((of_warehouses == 10)) || kind+=-w$of_warehouses
    new_recording replica "$kind"
    cp "$WORK/replica.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
    ((code == 0)) || die "penstock replica create ended with code $code"
}

# The orders that the districts of the source have given out so far.
replica_orders() { testkit sql --socket "$SOURCE_SOCKET" 'SELECT SUM(d_next_o_id) FROM tpcc.district' | tail -n 1; }

replica_begin() {
    ORDERS=$(replica_orders)
    BEGIN=$(now)
}

# replica_line NAME: what was done since replica_begin, as a line of the table; sets RATE.
replica_line() {
    local took=$(($(now) - BEGIN)) orders
    orders=$(($(replica_orders) - ORDERS))
    RATE=$((orders * 60000000 / took))
    [[ -n ${ALONE:-} ]] || ALONE=$RATE
    printf '| %s | %s | %s | %s |\n' "$1" "$(as_seconds "$took")" "$RATE" "$(as_hundredths $((RATE * 100 / ALONE)))" >>"$WORK/table"
    say "$1: $(as_seconds "$took") s, $RATE new orders a minute"
}
