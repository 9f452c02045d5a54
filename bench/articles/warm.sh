# ./dev article warm: how long a new server is slow. The article replayed half a million captured SELECTs on a live server and on a new
# one: cold, after reading all indexes, and after loading the live server's list of pages, which fits a physical copy only. Here the same,
# and a logical copy, and what penstock warm makes of both.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev, of bench/articles/shared.sh and of bench/warm/run.sh

article_warm() {
    local warehouses=$((SCALE * 6)) of_tpcc=20 queries=$((SCALE * 20000)) memory=$((SCALE * 128))M image=$((SCALE * 5))G rate=$((40 << 20)) reads=1500
    ((SCALE > 0)) || warehouses=1 of_tpcc=3 queries=3000 memory=64M image=2G
    found_title 'Warm-up: how long a new server is slow'
    article_servers
    # shellcheck source=bench/warm/run.sh
    source bench/warm/run.sh
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    export PENSTOCK_STATE="$WORK/state"
    found_setting 'buffer pool' "$memory"
    found_setting 'sample' "$queries SELECTs out of the general log of the live server, on one connection, with a skew"
    local args=(--innodb-buffer-pool-size="$memory" --innodb-flush-method=O_DIRECT --innodb-flush-log-at-trx-commit=0
        --innodb-buffer-pool-load-at-startup=OFF --innodb-buffer-pool-dump-pct=100)

    PLACE="$WORK"
    if loop_directory volume "$image" && held_to "$LOOP_DEVICE" "$rate" "$reads"; then
        PLACE=$LOOP_DIRECTORY
        found_setting 'disk' "a loop device that the kernel holds to 40 MiB and $reads reads a second"
    else
        found_lacks 'a disk as slow as it was then' '-' "$LACKING"
        HELD_BY=()
    fi
    at_end warm_end
    warm_server source "${args[@]}" --server-id=1
    # `fill` has variables of the same names.
    local of_warehouses=$warehouses
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    warm_server logical "${args[@]}" --server-id=2
    say "a logical copy: dump and load"
    penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas tpcc --to "$WORK/archive" >"$WORK/out"
    penstock load "$WORK/archive" --quiet --socket "$LOGICAL_SOCKET" --user root --verify none >"$WORK/out"
    say "TPC-C for $of_tpcc s, then queries that are captured"
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c 4 --ramp 1s --measure "${of_tpcc}s" >"$WORK/out"
    warm_queries "$of_warehouses" "$queries" >"$WORK/asked.sql"
    warm_capture
    say "a physical copy: the files of the live server, shut down for a moment"
    warm_physical
    # So that it is hot again: the queries and what they read.
    warm_sample "$SOURCE_SOCKET"
    warm_sample "$SOURCE_SOCKET"
    local code=0 begin
    begin=$(now)
    penstock warm save --quiet --json --socket "$SOURCE_SOCKET" --user root --datadir "$PLACE/source/data" --to "$WORK/hot" >"$WORK/saved" || code=$?
    ((code == 0 || code == 3)) || { cat "$WORK/saved" >&2; die "warm save failed"; }
    found_row 'what is hot, saved' '-' "$(as_seconds $(($(now) - begin))) s" "$(stat -c %s "$WORK/hot") bytes as ranges of keys"

    local all=--whole-indexes
    warm_way source 'the live server' '2m36s' :
    warm_way physical 'physical copy, cold' '8m42s' :
    warm_way physical 'physical copy, all indexes read' '4m15s, after 66 minutes' penstock warm load --quiet --socket "$PHYSICAL_SOCKET" --user root "$all"
    warm_way physical "physical copy, the server's own list" '2m38s, after 33 minutes' warm_list
    warm_way physical 'physical copy, penstock warm load' '-' penstock warm load --quiet --socket "$PHYSICAL_SOCKET" --user root --from "$WORK/hot" --one-reading
    warm_way logical 'logical copy, cold' '-' :
    warm_way logical 'logical copy, penstock warm load' '-' penstock warm load --quiet --socket "$LOGICAL_SOCKET" --user root --from "$WORK/hot" --one-reading
    warm_ramp

    found_sentence 'The article found that a new server took 8m42s for queries that the live one answers in 2m36s, and that only the page list of the live server helped, 33 minutes of it, on a physical copy.'
    found_sentence "Here the live server takes $(warm_time 'the live server'), a cold physical copy $(warm_time 'physical copy, cold'), and a logical copy, for which there is no list of pages, $(warm_time 'logical copy, cold') cold and $(warm_time 'logical copy, penstock warm load') after penstock warm load."
    found_sentence "That took $(warm_taken 'logical copy, penstock warm load') and read $(warm_read 'logical copy, penstock warm load'); reading all indexes took $(warm_taken 'physical copy, all indexes read') and read $(warm_read 'physical copy, all indexes read')."
}

# warm_server NAME ARGUMENT…: a server in the directory that is slow later.
warm_server() {
    local name=$1 socket='' pid=0
    shift
    WARM_SERVERS+=("$name")
    read_values < <(testkit server up "$FLAVOUR" --dir "$PLACE/$name" -- "$@")
    ((pid)) || die 'a server did not start'
    printf -v "${name^^}_SOCKET" '%s' "$socket"
    printf -v "${name^^}_PID" '%s' "$pid"
}
WARM_SERVERS=()

# They have to end before what they are on is unmounted.
warm_end() {
    local name
    for name in "${WARM_SERVERS[@]}"; do
        [[ ! -e $PLACE/$name/state ]] || testkit server down --dir "$PLACE/$name" >/dev/null || true
    done
}

# The queries as the live server logs them: what is replayed was captured, not written.
warm_capture() {
    testkit sql --socket "$SOURCE_SOCKET" "SET GLOBAL general_log_file = '$PLACE/source/general.log'" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" 'SET GLOBAL general_log = ON' >"$WORK/out"
    "${CLIENT[@]}" --no-defaults --user=root --socket="$SOURCE_SOCKET" tpcc <"$WORK/asked.sql" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" 'SET GLOBAL general_log = OFF' >"$WORK/out"
    sed -n 's/^.*Query\t\(SELECT .*\)$/\1;/p' "$PLACE/source/general.log" | grep -E ' FROM (customer|stock|order_line) ' >"$WORK/sample.sql"
    (($(wc -l <"$WORK/sample.sql") == $(wc -l <"$WORK/asked.sql"))) || die "the general log has $(wc -l <"$WORK/sample.sql") of $(wc -l <"$WORK/asked.sql") queries"
}

# Shuts a server down and remembers how it was started.
warm_stop() {
    local pid=${1^^}_PID
    pid=${!pid}
    mapfile -d '' -t COMMAND <"/proc/$pid/cmdline"
    mapfile -d '' -t ENVIRONMENT <"/proc/$pid/environ"
    local socket=${1^^}_SOCKET
    testkit sql --socket "${!socket}" SHUTDOWN >"$WORK/out" 2>&1 || true
    while [[ -e /proc/$pid ]]; do sleep 0.1; done
}

# Starts it again, held to the rates of the slow disk.
warm_start() {
    local name=$1 socket=${1^^}_SOCKET pid
    (cd "$PLACE/$name" && exec "${HELD_BY[@]}" setsid env -i "${ENVIRONMENT[@]}" "${COMMAND[@]}" >>"$PLACE/$name/log" 2>&1 </dev/null) &
    pid=$!
    # Its end is no news.
    disown "$pid"
    sed -i "s/^pid=.*/pid=$pid/" "$PLACE/$name/state"
    printf -v "${name^^}_PID" '%s' "$pid"
    until testkit sql --socket "${!socket}" 'SELECT 1' >"$WORK/out" 2>&1; do
        [[ -e /proc/$pid ]] || { tail -n 5 "$PLACE/$name/log" >&2; die "$name did not start again"; }
        sleep 0.1
    done
}

# A copy of the source's files as a server of its own. The list of its pages, which it writes at its end, goes with it.
warm_physical() {
    testkit sql --socket "$SOURCE_SOCKET" 'SET GLOBAL innodb_buffer_pool_dump_at_shutdown = ON' >"$WORK/out"
    warm_stop source
    cp -a "$PLACE/source" "$PLACE/physical"
    rm -f "$PLACE/physical/data/auto.cnf"
    warm_start source
    WARM_SERVERS+=(physical)
    PHYSICAL_SOCKET=${SOURCE_SOCKET/source/physical}
    sed -i "s#$PLACE/source#$PLACE/physical#g" "$PLACE/physical/state"
    COMMAND=("${COMMAND[@]//$PLACE\/source/$PLACE/physical}")
    COMMAND=("${COMMAND[@]/--server-id=1/--server-id=3}")
    warm_start physical
}

# A server loads the list of pages that came with its files.
warm_list() {
    testkit sql --socket "$PHYSICAL_SOCKET" 'SET GLOBAL innodb_buffer_pool_load_now = ON'
    until testkit sql --socket "$PHYSICAL_SOCKET" "SHOW STATUS LIKE 'Innodb_buffer_pool_load_status'" | grep -q completed; do sleep 0.1; done
}

# warm_way SERVER WHAT PUBLISHED COMMAND…: from an empty pool (but for the live server) the warm-up, then the sample; reads of the disk all the while.
warm_way() {
    local server=$1 what=$2 published=$3 socket=${1^^}_SOCKET before begin warmed sampled pages watcher
    shift 3
    socket=${!socket}
    if [[ $server != source ]]; then warm_stop "$server"; warm_start "$server"; fi
    before=$(warm_counter "$socket" Innodb_data_read)
    # The live server reads next to nothing, and a chart has six lines.
    if [[ $server == source ]]; then sleep 600 & else warm_watch "$socket" "$what" & fi
    watcher=$!
    BACKGROUND+=("$watcher")
    begin=$(now)
    "$@" >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die "$what: the warm-up failed"; }
    warmed=$(($(now) - begin))
    [[ $1 != : ]] || warmed=0
    local read=$(($(warm_counter "$socket" Innodb_data_read) - before))
    pages=$(warm_counter "$socket" Innodb_pages_read)
    begin=$(now)
    warm_sample "$socket"
    sampled=$(($(now) - begin))
    pages=$(($(warm_counter "$socket" Innodb_pages_read) - pages))
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    printf '%s\t%s\t%s\t%s\n' "$what" "$sampled" "$warmed" "$read" >>"$WORK/ways"
    found_bar 'The captured queries' s lower "$what" "$(as_seconds "$sampled")"
    local note="$pages pages read by the queries"
    [[ $1 == : ]] || note="after $(as_seconds "$warmed") s, which read $((read / 1000000)) MB; $note"
    found_row "$what" "$published" "$(as_seconds "$sampled") s" "$note"
}

# Bytes read from the disk, twice a second.
warm_watch() {
    local last read n=0
    last=$(warm_counter "$1" Innodb_data_read)
    while sleep 0.5; do
        n=$((n + 1))
        read=$(warm_counter "$1" Innodb_data_read) || return 0
        found_point 'Read from the disk, warm-up and then queries' B/s "$2" "$(as_hundredths $((n * 50)))" $(((read - last) * 2))
        last=$read
    done
}

warm_field() { awk -F '\t' -v w="$1" -v f="$2" '$1 == w { print $f }' "$WORK/ways"; }
warm_time() { printf '%s s' "$(as_seconds "$(warm_field "$1" 2)")"; }
warm_taken() { printf '%s s' "$(as_seconds "$(warm_field "$1" 3)")"; }
warm_read() { printf '%s MB' $(($(warm_field "$1" 4) / 1000000)); }

# Traffic that a hook turns up while latency and reads allow: from a warm and from a cold server.
warm_ramp() {
    local code=0 begin state limit
    limit=$(head -n 2000 "$WORK/sample.sql" | wc -l)
    head -n "$limit" "$WORK/sample.sql" >"$WORK/some.sql"
    for state in warm cold; do
        warm_stop logical
        warm_start logical
        [[ $state == cold ]] || penstock warm load --quiet --socket "$LOGICAL_SOCKET" --user root --from "$WORK/hot" --one-reading >"$WORK/out"
        rm -f "$WORK/share"
        warm_traffic &
        local traffic=$!
        BACKGROUND+=("$traffic")
        code=0 begin=$(now)
        # shellcheck disable=SC2016 # the hook's own parameter
        penstock warm ramp --quiet --socket "$LOGICAL_SOCKET" --user root --hook 'echo "$1" >'"$WORK/share" --max-latency 20ms --max-reads 200 \
            --queries "$WORK/some.sql" --schema tpcc --interval 1s --steady 1s --give-up 60s >"$WORK/out" 2>&1 || code=$?
        touch "$WORK/stop"
        wait "$traffic" || true
        rm -f "$WORK/stop"
        found_row "all of the traffic on the logical copy, $state" '-' "$( ((code == 0)) && echo "$(as_seconds $(($(now) - begin))) s" || echo "$(cat "$WORK/share") % after 60 s")" 'penstock warm ramp: 10, 25, 50, 100 %, at most 200 reads a second'
    done
}

# Users of the new server: as many of the sample queries as the share says, again and again.
warm_traffic() {
    local share
    while [[ ! -e $WORK/stop ]]; do
        share=$(cat "$WORK/share" 2>/dev/null || echo 0)
        shuf -n $((share * 5)) "$WORK/sample.sql" | "${CLIENT[@]}" --no-defaults --user=root --socket="$LOGICAL_SOCKET" tpcc >/dev/null 2>&1 || return 0
        sleep 0.2
    done
}
