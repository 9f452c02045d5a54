# ./dev article rate: is a rate that was asked for kept? The article dumped 204 GB with a limit that holds for each thread, and
# measured 1.3 to 1.5 times what its settings came to. Here four databases of very different size are dumped to a second host with the
# same settings as limits of the whole, and counted at its network interface, second by second.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/articles/shared.sh

article_rate() {
    local warehouses=$((SCALE * 10)) socket='' pid=0 port=0 file million=1048576
    ((SCALE > 0)) || warehouses=1
    found_title 'Rate limits: is the rate kept that was asked for?'
    article_servers
    mapfile -t args < <(roomy "$FLAVOUR")
    # Where the second host can reach it.
    read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/source" --port -- "${args[@]}" --bind-address='*')
    ((pid)) || die 'the server did not start'
    SOURCE_SOCKET=$socket
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    rate_databases
    if second_host; then
        RATE_COUNTED="bytes received by the network interface of a second host (a network namespace)"
        file=$FIRST_ADDRESS
    else
        found_lacks 'a second host' '-' "$LACKING"
        RATE_COUNTED="bytes sent as the server counts them (Bytes_sent): $LACKING"
        HOST_NAMESPACE='' file=127.0.0.1
    fi
    found_setting 'counted' "$RATE_COUNTED"
    local password
    password=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
    testkit sql --socket "$SOURCE_SOCKET" "CREATE USER article@'%' IDENTIFIED BY '$password'" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" "GRANT ALL ON *.* TO article@'%'" >"$WORK/out"
    (umask 077; printf '[client]\nhost=%s\nport=%s\nuser=article\npassword=%s\nssl-mode=DISABLED\n' "$file" "$port" "$password" >"$WORK/login.cnf")

    # As published: MB/s measured, and what the setting comes to.
    rate_run 'no limit, 4 threads' 4 0 '159.75 MB/s'
    rate_run '10M for each of 4 threads, so 40M' 4 $((40 * million)) '58.47 MB/s (139 %)'
    rate_run '10M for each of 8 threads, so 80M' 8 $((80 * million)) '115.41 MB/s (138 %)'
    rate_run '20M for each of 2 threads, so 40M' 2 $((40 * million)) '50.79 MB/s (121 %)'
    if ! have mysqlsh; then
        found_lacks 'a tool that limits each thread' '-' 'MySQL Shell is not on this machine; mydumper has no limit by bytes'
    fi
    found_sentence 'The article asked for 10M on each of 4 threads and got 58 MB/s, because the limit is one of each thread and lets bursts through; four databases of different size made it worse, as threads come and go.'
    found_sentence "penstock has one limit for all its connections, --max-rate, whatever their number: counted outside of the program it was kept to $(rate_kept) of what was asked for, on average of a whole dump."
    found_sentence "The highest second of any limited dump was $(rate_highest) of its limit."
}

# Four databases: all of TPC-C, and some of its tables.
rate_databases() {
    local all=(customer:large item:middle district:small) one
    for one in "${all[@]}"; do
        testkit sql --socket "$SOURCE_SOCKET" "CREATE DATABASE ${one#*:}" >"$WORK/out"
        testkit sql --socket "$SOURCE_SOCKET" "CREATE TABLE ${one#*:}.${one%:*} LIKE tpcc.${one%:*}" >"$WORK/out"
        testkit sql --socket "$SOURCE_SOCKET" "INSERT INTO ${one#*:}.${one%:*} SELECT * FROM tpcc.${one%:*}" >"$WORK/out"
    done
    found_setting 'data' "$((bytes / 1000000)) MB of TPC-C in one database, and three with one of its tables each"
}

# In the second host, if there is one.
rate_there() {
    if [[ -n $HOST_NAMESPACE ]]; then
        ip netns exec "$HOST_NAMESPACE" "$@"
    else
        "$@"
    fi
}

rate_counter() {
    if [[ -n $HOST_NAMESPACE ]]; then
        # What this end of the link sends is what the other end receives.
        cat "/sys/class/net/$HOST_LINK/statistics/tx_bytes"
    else
        testkit sql --socket "$SOURCE_SOCKET" "SHOW GLOBAL STATUS LIKE 'Bytes_sent'" | awk '{ print $2 }'
    fi
}

# rate_run WHAT THREADS LIMIT PUBLISHED: a dump from the second host; its rate while rows come, as a whole and second by second.
rate_run() {
    local what=$1 threads=$2 limit=$3 published=$4 options=() pid before now_bytes begin at last=0 code=0 second=0 mean
    ((limit == 0)) || options=(--max-rate "$limit")
    [[ $FLAVOUR == mariadb ]] || options+=(--get-server-public-key)
    rm -rf "$WORK/dump"
    before=$(rate_counter)
    begin=$(now)
    rate_there penstock dump --defaults-file="$WORK/login.cnf" --to "$WORK/dump" --threads "$threads" --compression none --no-users --quiet "${options[@]}" >"$WORK/out" 2>&1 &
    pid=$!
    while [[ -e /proc/$pid ]]; do
        at=$((begin + (second + 1) * 1000000 - $(now)))
        ((at <= 0)) || sleep "$(as_seconds "$at")"
        second=$((second + 1))
        now_bytes=$(($(rate_counter) - before))
        found_point 'Bytes per second, each second' B/s "$what" "$second" "$((now_bytes - last))"
        # The last one is not whole.
        [[ -e /proc/$pid ]] && rate_second "$what" "$limit" "$((now_bytes - last))"
        last=$now_bytes
    done
    wait "$pid" || code=$?
    ((code == 0)) || { cat "$WORK/out" >&2; die "the dump ended with code $code"; }
    at=$(($(now) - begin))
    # Of the time in which rows came, as the program saw it begin and end; the bytes are counted outside.
    mean=$(jq -rn --argjson bytes "$last" --argjson us "$(rate_time "$at")" '$bytes / $us * 1e6 | floor')
    ((limit == 0)) || found limits 'Bytes per second, each second' "$((limit / 1048576))M" "$limit"
    rate_note "$what" "$limit" "$mean"
    local share=''
    ((limit == 0)) || share=" ($((mean * 100 / limit)) %)"
    found_row "$what" "$published" "$(jq -rn --argjson m "$mean" '$m / 1e4 | round / 100') MB/s$share" "$((last / 1000000)) MB in $(as_seconds "$at") s"
    found_bar 'Mean rate of a whole dump' B/s neither "$what" "$mean"
}

# All of the time: what little passes before the first row and after the last makes the mean smaller, never larger.
rate_time() { printf '%s' "$1"; }
rate_second() { (($2 == 0)) || printf '%s\n' "$(($3 * 1000 / $2))" >>"$WORK/seconds"; }
rate_note() { (($2 == 0)) || printf '%s\n' "$(($3 * 1000 / $2))" >>"$WORK/means"; }
# The least and the most, as per cent with one decimal.
rate_kept() { sort -n "$WORK/means" | awk '{ a[NR] = $1 } END { printf "%.1f to %.1f %%", a[1] / 10, a[NR] / 10 }'; }
rate_highest() { sort -n "$WORK/seconds" 2>/dev/null | tail -n 1 | awk '{ printf "%.1f %%", $1 / 10; n = 1 } END { if (!n) printf "not seen (no dump took two seconds)" }'; }
