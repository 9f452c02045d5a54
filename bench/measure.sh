# The benchmarks of ./dev bench, which sources this file: what is measured, how,
# and against what. bench/README.md says what the figures mean.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./dev

# Processor time of a process so far, in hundredths of a second.
ticks() {
    local stat
    stat=$(<"/proc/$1/stat")
    # Behind the program's name, which stands in parentheses, user and system time are fields 12 and 13.
    read -ra stat <<<"${stat##*) }"
    printf '%s' $((stat[11] + stat[12]))
}

# record KIND FIELD… writes one line for the report.
record() { (IFS=$'\t'; printf '%s\n' "$*" >>"$RUNS"); }

# What the last command left to the disk, deleted files above all, must not count against the next.
settle() { sync; sleep 0.5; }

# measure GROUP NAME SERVER_PID COMMAND… records wall, processor time and peak memory of a command.
measure() {
    local group=$1 name=$2 pid=$3 before after wall user system peak
    shift 3
    settle
    before=0
    [[ ! -r /proc/$pid/stat ]] || before=$(ticks "$pid")
    /usr/bin/time -q -f '%e %U %S %M' -o "$WORK/time" "$@" >"$WORK/out" 2>&1 </dev/null ||
        { tail -n 15 "$WORK/out" >&2; die "$group, $name: failed"; }
    local server=-
    # A server that was stopped and started meanwhile has taken its figures along.
    if [[ -r /proc/$pid/stat ]]; then
        after=$(ticks "$pid")
        server=$(as_hundredths $((after - before)))
    fi
    read -r wall user system peak <"$WORK/time"
    record run "$group" "$name" "$wall" "$(sum_of "$user" "$system")" "$peak" "$server"
    say "$(printf '%-34s %-40s %7s s' "$group" "$name" "$wall")"
}

# Two figures with two digits behind the point, added up.
sum_of() { as_hundredths $((10#${1/./} + 10#${2/./})); }
# 1234 as 12.34.
as_hundredths() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }

# drain_run GROUP NAME CONNECTIONS [TABLE]: the limit, measured by testkit itself without its planning.
drain_run() {
    local group=$1 name=$2 connections=$3 table=${4:-} before after
    local seconds=0 cpu=0 rows=0 bytes=0
    settle
    before=$(ticks "$SOURCE_PID")
    read_values < <(testkit drain --socket "$SOURCE_SOCKET" --schema "$schema" --connections "$connections" ${table:+--table "$table"})
    after=$(ticks "$SOURCE_PID")
    record run "$group" "$name" "$seconds" "$cpu" - "$(as_hundredths $((after - before)))"
    record bytes "$group" "$bytes"
    say "$(printf '%-34s %-40s %7s s' "$group" "$name" "$seconds")"
}

# An empty server for one load, with the safety off that a restore does without.
fresh_target() {
    [[ -z ${TARGET_UP:-} ]] || server_down target
    local args
    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    server target "$FLAVOUR" --server-id=2 --skip-log-bin "${args[@]}"
    TARGET_UP=1
    if [[ $FLAVOUR == mysql ]]; then
        testkit sql --socket "$TARGET_SOCKET" 'ALTER INSTANCE DISABLE INNODB REDO_LOG'
    fi
}

# load_run NAME COMMAND…: one load into a fresh server, and the proof that it is all there (first run only).
load_run() {
    local name=$1 group="load, 2 workers"
    shift
    measure "$group" "$name" "$TARGET_PID" "$@"
    if ((RUN == 1)); then
        testkit checksum --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --schema "$schema" >"$WORK/out" 2>&1 ||
            { cat "$WORK/out" >&2; die "$group, $name: the copy differs"; }
    fi
}

# options BENCH "NAME NAME+ …" ARGUMENT…: `--name value` into the caller's variable of that name, or behind what its
# array holds where the name ends in +.
options() {
    local bench=$1 known=" $2 " name
    shift 2
    while (($#)); do
        name=${1#--}
        if [[ $1 == --* && $known == *" $name "* ]]; then
            printf -v "$name" '%s' "${2:?}"
        elif [[ $1 == --* && $known == *" $name+ "* ]]; then
            local -n list=$name
            list+=("$1" "${2:?}")
        else
            die "bench $bench does not know '$1'" "./dev help"
        fi
        shift 2
    done
    # shellcheck disable=SC2154 # the caller's
    FLAVOUR=$flavour
    [[ $FLAVOUR == mysql || $FLAVOUR == mariadb ]] || die "no flavour '$FLAVOUR'" "mysql or mariadb"
}

# Sets the caller's `load`, and says so where others are at work on this machine.
machine_load() {
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    ((10#${load/./} < 100)) || say "this machine is busy (load $load): the figures will not be worth much"
}

bench_rows() {
    local flavour=mysql warehouses=10 runs=3 data=tpcc big=stock
    options rows 'flavour warehouses runs data' "$@"
    [[ $data == debian ]] && big=file_index
    bench_source "$warehouses" "$data"

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        bench_dump
        bench_one_table "$big"
        bench_verify
        bench_load
    done
    bench_reach

    local name
    name="bench/$(date +%F)-rows-$FLAVOUR-$data"
    title "Recorded as $name.md and $name.json"
    testkit report --runs "$RUNS" --markdown "$name.md" --json "$name.json"
}

# How exactly a limit is kept, for each number of workers: seen at a proxy, not by penstock's own figures.
bench_rate() {
    local flavour=mysql warehouses=10 rates=5,20,80 workers=1,2,4,8,16 road=unix name
    options rate 'flavour warehouses rates workers road' "$@"
    bench_source "$warehouses" tpcc
    name="bench/$(date +%F)-rate-$FLAVOUR-$road.md"
    title "Recorded as $name"
    {
        printf '# Limits, %s\n\n' "$FLAVOUR"
        printf 'Bytes to the client, counted at a proxy (%s), in per cent of the limit; `./dev bench rate`.\n\n' "$road"
        awk -F '\t' '$1 == "fact" && $2 ~ /^(date|machine|server|penstock|data)$/ { print "- " $2 ": " $3 }' "$RUNS"
        printf '\n'
        testkit rate --penstock "$TARGET/release/penstock" --socket "$SOURCE_SOCKET" \
            --rates "$rates" --workers "$workers" --road "$road" 2>"$WORK/out" ||
            { cat "$WORK/out" >&2; die "a dump failed"; }
    } | tee "$name"
}

# What the reader of a record has to know about the machine and the programs.
# A source server full of data, and what every benchmark needs to know of it; sets schema, rows, bytes.
bench_source() {
    local warehouses=$1 data=$2 load args
    need_tools
    need /usr/bin/time:time zstd:zstd
    need_flavour "$FLAVOUR"
    build penstock testkit
    MEMORY=2G RUNS="$WORK/runs.tsv" TARGET_UP='' DUMP_OPTIONS=(--single-transaction)
    machine_load
    bench_facts "$warehouses" "$data"

    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    server source "$FLAVOUR" "${args[@]}"
    fill "$data" "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    mapfile -t DUMP < <(testkit client "$FLAVOUR" dump)
    # Without this, mysqldump writes the source's GTIDs into the dump, and warns.
    [[ $FLAVOUR == mariadb ]] || DUMP_OPTIONS+=(--set-gtid-purged=OFF)
    mapfile -t IMPORT < <(testkit client "$FLAVOUR" import)
    SOURCE_LOGIN=(--no-defaults --user=root --socket="$SOURCE_SOCKET")
    STOCK_DUMP=("${DUMP[@]}" "${SOURCE_LOGIN[@]}" "${DUMP_OPTIONS[@]}")
    record fact data "$data: $(as_count "$rows") rows, $((bytes / 1000000)) MB as text"
    say "one read to warm the server up"
    testkit drain --socket "$SOURCE_SOCKET" --schema "$schema" >"$WORK/out"
}

bench_facts() {
    local memory
    memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
    record fact date "$(date -u +%FT%RZ)"
    record fact machine "$(nproc) cores, $((memory / 1048576)) GiB, Linux $(uname -r), load at the start $(cut -d ' ' -f 1 /proc/loadavg)"
    record fact server "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), unix socket, on the same machine, data in memory"
    record fact penstock "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
    record fact 'dump limit' 'the same SELECTs drained by 2 connections of the same driver (testkit drain)'
    record fact 'load limit' 'the same chunks through LOAD DATA of the stock client on 2 connections'
    record fact 'load target' "empty for each run, no binary log, flush_log_at_trx_commit=0$([[ $FLAVOUR == mysql ]] && echo ', redo log off')"
    [[ $2 != tpcc ]] || record fact warehouses "$1"
    MYDUMPER=${MYDUMPER:-$(command -v mydumper || true)}
    MYLOADER=${MYLOADER:-$(command -v myloader || true)}
    if [[ -n $MYDUMPER ]]; then
        record fact mydumper "$("$MYDUMPER" --version | head -n 1)"
    else
        record fact mydumper 'not on this machine'
    fi
}

bench_dump() {
    local group="dump, 2 workers" login=(--user root --socket "$SOURCE_SOCKET")
    local limit='limit: rows read by 2 connections'
    drain_run "$group" "$limit" 2
    rm -rf "$WORK"/dump-*
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
    # shellcheck disable=SC2016 # the inner shell's variables
    measure "$group" "${DUMP[-1]##*/} | zstd -1" "$SOURCE_PID" \
        bash -c 'set -o pipefail; to=$1; shift; "$@" | zstd -1 -q -o "$to"' _ "$WORK/dump-stock.sql.zst" \
        "${STOCK_DUMP[@]}" --databases "$schema"
    # What zstd alone takes for these rows: part of what the compressed dump has to reach.
    if ((RUN == 1)); then
        cat "$WORK"/dump-none/*.tsv | /usr/bin/time -q -f '%U %S' -o "$WORK/time" zstd -1 -q --single-thread -c >/dev/null
        read -r user system <"$WORK/time"
        ZSTD_CPU=$(sum_of "$user" "$system")
        record fact 'zstd -1 alone' "$ZSTD_CPU s of one core for these rows"
    fi
}

# One table alone has to keep both workers busy.
bench_one_table() {
    local table=$1 n group="dump of $1 alone"
    for n in 1 2; do
        drain_run "$group" "limit: $n connections" "$n" "$table"
        rm -rf "$WORK/dump-one"
        measure "$group" "penstock, $n workers" "$SOURCE_PID" \
            penstock dump --user root --socket "$SOURCE_SOCKET" --tables "$schema.$table" --threads "$n" --compression none --to "$WORK/dump-one"
        rm -rf "$WORK/dump-one"
        measure "$group" "penstock zstd:1, $n workers" "$SOURCE_PID" \
            penstock dump --user root --socket "$SOURCE_SOCKET" --tables "$schema.$table" --threads "$n" --to "$WORK/dump-one"
    done
    rm -rf "$WORK/dump-one"
}

bench_verify() {
    local group='verify, 2 workers'
    drain_run "$group" 'limit: rows read by 2 connections' 2
    measure "$group" 'penstock verify --against' "$SOURCE_PID" \
        penstock verify "$WORK/dump-zstd" --threads 2 --against "mysql://root@localhost/?socket=$SOURCE_SOCKET"
    measure "$group" 'penstock verify (offline)' "$SOURCE_PID" penstock verify "$WORK/dump-zstd" --threads 2
}

bench_load() {
    local group='load, 2 workers' ddl="$WORK/ddl.sql" sql="$WORK/dump.sql" tab="$WORK/tab"
    if ((RUN == 1)); then
        say "what the other tools load from"
        "${STOCK_DUMP[@]}" --no-data --databases "$schema" >"$ddl"
        "${STOCK_DUMP[@]}" --databases "$schema" >"$sql"
        mkdir -p "$tab"
        "${STOCK_DUMP[@]}" --tab="$tab" "$schema" # the server writes the files with the rows
    fi
    record bytes "$group" "$bytes"
    TARGET_LOGIN=(--no-defaults --user=root --socket="$WORK/target/sock")
    fresh_target
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$ddl"
    load_run 'limit: LOAD DATA of the same chunks' \
        testkit stock-load "$FLAVOUR" --socket "$TARGET_SOCKET" --schema "$schema" --archive "$WORK/dump-none"
    fresh_target
    load_run 'penstock load --no-verify' penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows --no-verify
    fresh_target
    load_run 'penstock load, verified' penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows
    fresh_target
    # shellcheck disable=SC2016 # the inner shell's variables
    load_run "${CLIENT[-1]##*/} < dump.sql" bash -c 'from=$1; shift; exec "$@" <"$from"' _ "$sql" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
    fresh_target
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$ddl"
    load_run "${IMPORT[-1]##*/} --use-threads=2" "${IMPORT[@]}" "${TARGET_LOGIN[@]}" --use-threads=2 "$schema" "$tab"/*.txt
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        fresh_target
        load_run 'myloader' "$MYLOADER" --user root --socket "$TARGET_SOCKET" --threads 2 --directory "$WORK/dump-mydumper"
    fi
}

# What was asked for before the start, to be compared with what was measured.
bench_reach() {
    local limit='limit: rows read by 2 connections' dump='dump, 2 workers'
    record reach "$dump" 'penstock, no compression' 1.25 "$limit"
    record reach "$dump" 'penstock, no compression' 0.5 'mydumper, no compression'
    record reach "$dump" 'penstock, zstd:1' 0.42 'mydumper, zstd'
    # Reading and compressing are spread over two cores: the time that this takes at best.
    local cpu
    cpu=$(awk -F '\t' -v group="$dump" -v name="$limit" -v zstd="$ZSTD_CPU" \
        '$1 == "run" && $2 == group && $3 == name { n++; sum += $5 + $7 } END { printf "%.2f", (sum / n + zstd) / 2 }' "$RUNS")
    record run "$dump" 'reading and zstd on two full cores' "$cpu" - - -
    record reach "$dump" 'penstock, zstd:1' 1.1 'reading and zstd on two full cores'
    record reach "dump of $big alone" 'penstock, 2 workers' 0.6 'penstock, 1 workers'
    record reach "dump of $big alone" 'penstock zstd:1, 2 workers' 0.6 'penstock zstd:1, 1 workers'
    record reach 'verify, 2 workers' 'penstock verify --against' 1.5 "$limit"
    record reach 'load, 2 workers' 'penstock load, verified' 1 "${IMPORT[-1]##*/} --use-threads=2"
    record reach 'load, 2 workers' 'penstock load --no-verify' 1 "${IMPORT[-1]##*/} --use-threads=2"
}

# ---------------------------------------------------------------- restore

# An empty server as it is installed, but for memory: nothing is switched off for the restore.
stock_target() {
    [[ -z ${TARGET_UP:-} ]] || server_down target
    local args
    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    server target "$FLAVOUR" --server-id=2 "${args[@]}" --innodb-flush-log-at-trx-commit=1 "$@"
    TARGET_UP=1
}

# The same, with a script that stops and starts it: what --server-command gets.
cold_target() {
    stock_target "$@"
    cp "/proc/$TARGET_PID/cmdline" "$WORK/target.args"
    cat >"$WORK/target.sh" <<TEXT
#!/bin/sh
server=$WORK/target
pid=\$(sed -n 's/^pid=//p' "\$server/state")
alive() { grep -qas "\$server/data" "/proc/\$pid/cmdline"; }
case \$1 in
stop) alive && kill "\$pid"; while alive; do sleep 0.02; done ;;
start)
    pid=\$(xargs -0 sh -c '"\$@" >>"$WORK/target.log" 2>&1 & echo \$!' sh <"$WORK/target.args")
    sed -i "s/^pid=.*/pid=\$pid/" "\$server/state" ;;
esac
TEXT
}

# restore_run GROUP NAME SCHEMA COMMAND…: as measure, and the first copy is compared with the source.
restore_run() {
    local group=$1 name=$2 schema=$3
    shift 3
    measure "$group" "$name" "$TARGET_PID" "$@"
    if ((RUN == 1)); then
        testkit checksum --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --schema "$schema" >"$WORK/out" 2>&1 ||
            { cat "$WORK/out" >&2; die "$group, $name: the copy differs"; }
    fi
}

# So many million rows in key order with five secondary keys over random values.
fill_five_keys() {
    local n
    "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" <<'SQL'
CREATE DATABASE five_keys; USE five_keys;
CREATE TABLE n (i INT PRIMARY KEY); INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
CREATE TABLE t (id INT UNSIGNED NOT NULL PRIMARY KEY, a INT NOT NULL, b BIGINT NOT NULL, c VARCHAR(40) NOT NULL,
  d VARCHAR(20) NOT NULL, e DATETIME NOT NULL, f DECIMAL(10,2)) ENGINE=InnoDB;
SQL
    for ((n = 0; n < $1; n++)); do
        "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" five_keys <<SQL
INSERT INTO t SELECT n, RAND(n) * 1e9, RAND(n + 1) * 1e15, CONCAT(HEX(RAND(n + 2) * 1e15), HEX(RAND(n + 3) * 1e15)),
  HEX(RAND(n + 4) * 1e12), DATE_ADD('2000-01-01', INTERVAL FLOOR(RAND(n + 5) * 7e8) SECOND), RAND(n) * 1e6
  FROM (SELECT $n * 1000000 + a.i + 10*b.i + 100*c.i + 1000*d.i + 10000*e.i + 100000*f.i AS n FROM n a, n b, n c, n d, n e, n f) q;
SQL
    done
    "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" five_keys \
        -e 'DROP TABLE n; ALTER TABLE t ADD KEY a (a), ADD KEY b (b), ADD KEY c (c), ADD KEY d (d, a), ADD KEY e (e); ANALYZE TABLE t'
}

bench_restore() {
    local flavour=mysql warehouses=10 runs=3 millions=1 only='archive script keys files' part
    options restore 'flavour warehouses runs millions only' "$@"
    for part in ${only//,/ }; do
        [[ " archive script keys files " == *" $part "* ]] || die "--only $part: archive, script, keys, files, or several of them"
    done
    only=" ${only//,/ } "
    bench_source "$warehouses" tpcc
    record fact 'as installed' 'a new server with 2 GiB of buffer pool and of redo log, binary log and doublewrite as they come, flush_log_at_trx_commit=1'
    say "a table with five keys, and what is loaded"
    fill_five_keys "$millions" >"$WORK/out"
    local login=(--user root --socket "$SOURCE_SOCKET" --threads 2)
    penstock dump "${login[@]}" --schemas "$schema" --to "$WORK/dump-zstd" -q >"$WORK/out"
    penstock dump "${login[@]}" --schemas five_keys --chunk-size 8M --to "$WORK/dump-five" -q >"$WORK/out"
    [[ $only != *' script '* ]] || "${STOCK_DUMP[@]}" --databases "$schema" >"$WORK/dump.sql"
    [[ $only != *' keys '* ]] || "${STOCK_DUMP[@]}" --databases five_keys >"$WORK/five.sql"
    if [[ -n $MYDUMPER ]]; then
        "$MYDUMPER" "${login[@]}" --database "$schema" --outputdir "$WORK/dump-mydumper" >"$WORK/out" 2>&1
        "$MYDUMPER" "${login[@]}" --database five_keys --outputdir "$WORK/five-mydumper" >"$WORK/out" 2>&1
    fi
    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        for part in $only; do "bench_restore_$part"; done
    done
    server_down target
    bench_restore_reach
    local name
    name="bench/$(date +%F)-restore-$FLAVOUR-tpcc"
    [[ $only == *' archive '* ]] || name+=$(printf -- '-%s' $only)
    ((warehouses == 10)) || name+=-w$warehouses
    title "Recorded as $name.md and $name.json"
    testkit report --runs "$RUNS" --markdown "$name.md" --json "$name.json"
}

bench_restore_archive() {
    local group='restore of an archive' level
    record bytes "$group" "$bytes"
    for level in off safe max; do
        stock_target
        restore_run "$group" "penstock --tune=$level --no-verify" "$schema" \
            penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows --tune "$level" --no-verify
    done
    stock_target
    restore_run "$group" 'penstock --tune=max' "$schema" \
        penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows --tune max
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        fresh_target
        restore_run "$group" 'myloader, best settings' "$schema" "$MYLOADER" --user root --socket "$TARGET_SOCKET" --threads 2 --directory "$WORK/dump-mydumper"
    fi
}

bench_restore_script() {
    local group='restore of one .sql file'
    record bytes "$group" "$bytes"
    stock_target
    # shellcheck disable=SC2016 # the inner shell's variables
    restore_run "$group" "${CLIENT[-1]##*/} <" "$schema" bash -c 'from=$1; shift; exec "$@" <"$from"' _ "$WORK/dump.sql" "${CLIENT[@]}" --no-defaults --user=root --socket="$TARGET_SOCKET"
    fresh_target
    # shellcheck disable=SC2016 # the inner shell's variables
    restore_run "$group" "${CLIENT[-1]##*/} <, best settings" "$schema" bash -c 'from=$1; shift; exec "$@" <"$from"' _ "$WORK/dump.sql" "${CLIENT[@]}" --no-defaults --user=root --socket="$TARGET_SOCKET"
    stock_target
    restore_run "$group" 'penstock --tune=off' "$schema" penstock load "$WORK/dump.sql" --socket "$TARGET_SOCKET" --user root --threads 2 --tune off
    fresh_target
    restore_run "$group" 'penstock, best settings' "$schema" penstock load "$WORK/dump.sql" --socket "$TARGET_SOCKET" --user root --threads 2
}

bench_restore_keys() {
    local group='a table with five keys, best settings' n
    fresh_target
    # shellcheck disable=SC2016 # the inner shell's variables
    restore_run "$group" "${CLIENT[-1]##*/} <" five_keys bash -c 'from=$1; shift; exec "$@" <"$from"' _ "$WORK/five.sql" "${CLIENT[@]}" --no-defaults --user=root --socket="$TARGET_SOCKET"
    fresh_target
    restore_run "$group" 'penstock, keys before the rows, 1 worker' five_keys penstock load "$WORK/dump-five" --socket "$TARGET_SOCKET" --user root --threads 1 --road rows --defer-keys off --no-verify
    for n in 1 2; do
        fresh_target
        restore_run "$group" "penstock, $n workers" five_keys penstock load "$WORK/dump-five" --socket "$TARGET_SOCKET" --user root --threads "$n" --road rows --no-verify
    done
}

# The whole restore by files, its comparison included, against the best way through SQL, and against the copying of
# the same files.
bench_restore_files() {
    local group='restore by files, compared' keys='five keys by files, compared' import="${IMPORT[-1]##*/} --use-threads=2"
    local login=(--no-defaults --user=root --socket="$WORK/target/sock")
    if ((RUN == 1)); then
        "${STOCK_DUMP[@]}" --no-data --databases "$schema" >"$WORK/ddl.sql"
        mkdir -p "$WORK/tab"
        "${STOCK_DUMP[@]}" --tab="$WORK/tab" "$schema" # the server writes the files with the rows
        "${STOCK_DUMP[@]}" --no-data --databases five_keys >"$WORK/ddl-five.sql"
        mkdir -p "$WORK/tab-five"
        "${STOCK_DUMP[@]}" --tab="$WORK/tab-five" five_keys
        # Two files of one table, so that both threads have something to load; no value has a line break in it.
        split --number=l/2 --additional-suffix=.txt "$WORK/tab-five/t.txt" "$WORK/tab-five/t."
        rm "$WORK/tab-five/t.txt"
    fi
    record bytes "$group" "$bytes"
    fresh_target
    restore_run "$group" 'penstock --road rows, best settings' "$schema" \
        penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        fresh_target
        restore_run "$group" 'myloader, best settings' "$schema" "$MYLOADER" --user root --socket "$TARGET_SOCKET" --threads 2 --directory "$WORK/dump-mydumper"
    fi
    fresh_target
    "${CLIENT[@]}" "${login[@]}" <"$WORK/ddl.sql"
    restore_run "$group" "$import" "$schema" "${IMPORT[@]}" "${login[@]}" --use-threads=2 "$schema" "$WORK/tab"/*.txt
    stock_target --skip-log-bin
    restore_run "$group" 'penstock --road tablespace' "$schema" \
        penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road tablespace
    copy_files "$group" "$schema"
    cold_target --skip-log-bin
    restore_run "$group" 'penstock --road cold' "$schema" \
        penstock load "$WORK/dump-zstd" --socket "$TARGET_SOCKET" --user root --threads 2 --road cold --server-command "sh $WORK/target.sh"
    own_folder "$group" "$WORK/dump-zstd"
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        fresh_target
        restore_run "$keys" 'myloader, best settings' five_keys "$MYLOADER" --user root --socket "$TARGET_SOCKET" --threads 2 --directory "$WORK/five-mydumper"
    fi
    fresh_target
    "${CLIENT[@]}" "${login[@]}" <"$WORK/ddl-five.sql"
    restore_run "$keys" "$import" five_keys "${IMPORT[@]}" "${login[@]}" --use-threads=2 five_keys "$WORK/tab-five"/t.*.txt
    fresh_target
    restore_run "$keys" 'penstock --road rows, best settings' five_keys \
        penstock load "$WORK/dump-five" --socket "$TARGET_SOCKET" --user root --threads 2 --road rows
    stock_target --skip-log-bin
    restore_run "$keys" 'penstock --road tablespace' five_keys \
        penstock load "$WORK/dump-five" --socket "$TARGET_SOCKET" --user root --threads 2 --road tablespace
    copy_files "$keys" five_keys
    cold_target --skip-log-bin
    restore_run "$keys" 'penstock --road cold' five_keys \
        penstock load "$WORK/dump-five" --socket "$TARGET_SOCKET" --user root --threads 2 --road cold --server-command "sh $WORK/target.sh"
    own_folder "$keys" "$WORK/dump-five"
}

# own_folder GROUP DUMP: into a data folder that is made for it, from nothing to a server that is shut down.
own_folder() {
    local group=$1 dump=$2 program
    program=$(testkit program "$FLAVOUR" "$WORK/server-program")
    rm -rf "$WORK/own"
    measure "$group" 'penstock --datadir' "$TARGET_PID" \
        penstock load "$dump" --datadir "$WORK/own" --server-program "$program" --threads 2
    record fact "$group" "of penstock --datadir, making the folder and the server's first start: $(sed -n 's/.*; made in //p' "$WORK/out")"
    rm -rf "$WORK/own"
}

# copy_files GROUP SCHEMA: the target's files of a schema, copied and synced: less no restore can take.
copy_files() {
    local group=$1 from
    from="$(testkit sql --socket "$TARGET_SOCKET" 'SELECT @@datadir')/$2"
    rm -rf "$WORK/copied"
    record fact "$group" "files of $(du -sm --apparent-size "$from" | cut -f1) MiB"
    # shellcheck disable=SC2016 # the inner shell's variables
    measure "$group" 'cp of the files, and sync' "$TARGET_PID" sh -c 'cp -r "$1" "$2" && sync -f "$2"' _ "$from" "$WORK/copied"
    rm -rf "$WORK/copied"
}

bench_restore_reach() {
    local group='restore of an archive' script='restore of one .sql file' keys='a table with five keys, best settings' client="${CLIENT[-1]##*/} <"
    if [[ $only == *' archive '* ]]; then
        record reach "$group" 'penstock --tune=max --no-verify' 0.625 'myloader, best settings'
        record reach "$group" 'penstock --tune=max' 1.15 'penstock --tune=max --no-verify'
    fi
    if [[ $only == *' script '* ]]; then
        record reach "$script" 'penstock, best settings' 0.333 "$client, best settings"
        record reach "$script" 'penstock --tune=off' 0.5 "$client"
    fi
    [[ $only != *' keys '* ]] || record reach "$keys" 'penstock, 2 workers' 0.588 'penstock, keys before the rows, 1 worker'
    if [[ $only == *' files '* ]]; then
        local files='restore by files, compared' most=0.333 other
        [[ $FLAVOUR == mysql ]] || most=0.167
        for other in 'penstock --road rows, best settings' 'myloader, best settings' "${IMPORT[-1]##*/} --use-threads=2"; do
            record reach "$files" 'penstock --road tablespace' "$most" "$other"
            record reach "$files" 'penstock --road cold' 0.167 "$other"
            record reach "$files" 'penstock --datadir' 0.167 "$other"
        done
        record reach "$files" 'penstock --road cold' 2 'cp of the files, and sync'
        record reach "$files" 'penstock --datadir' 2 'cp of the files, and sync'
        for other in 'penstock --road rows, best settings' 'myloader, best settings' "${IMPORT[-1]##*/} --use-threads=2"; do
            record reach 'five keys by files, compared' 'penstock --road tablespace' 0.1 "$other"
            record reach 'five keys by files, compared' 'penstock --road cold' 0.1 "$other"
            record reach 'five keys by files, compared' 'penstock --datadir' 0.1 "$other"
        done
    fi
}

# ---------------------------------------------------------------- impact

# The price of a backup, on servers as they are installed but for memory: durable commits, binary log, doublewrite.
bench_impact() {
    local flavour=mysql warehouses=10 runs=3 connections=8 alone=20s measure=40s replica=yes memory=2G page
    local more=() method=()
    options impact 'flavour warehouses runs connections alone measure replica memory method+' "$@"
    need_flavour "$FLAVOUR"
    need gzip:gzip
    build penstock testkit
    local load args dump socket='' pid='' port=''
    machine_load
    mapfile -t args < <(roomy "$FLAVOUR" 2G)
    args+=(--innodb-buffer-pool-size="$memory" --innodb-flush-log-at-trx-commit=1 --log-bin=binlog)
    read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/source" --port -- --server-id=1 "${args[@]}")
    SOURCE_SOCKET=$socket
    if [[ $replica == yes ]]; then
        local source_port=$port follow
        read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/replica" -- --server-id=2 "${args[@]}")
        follow="CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=$source_port, MASTER_USER='follower', MASTER_PASSWORD='follower'"
        [[ $FLAVOUR == mariadb ]] || follow="CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=$source_port, SOURCE_USER='follower', SOURCE_PASSWORD='follower', GET_SOURCE_PUBLIC_KEY=1"
        testkit sql --socket "$SOURCE_SOCKET" "CREATE USER follower@'%' IDENTIFIED BY 'follower'" >"$WORK/out"
        testkit sql --socket "$SOURCE_SOCKET" "GRANT REPLICATION SLAVE ON *.* TO follower@'%'" >"$WORK/out"
        testkit sql --socket "$socket" "$follow" >"$WORK/out"
        more+=(--replica "mysql://root@localhost/?socket=$socket")
    fi
    mapfile -t dump < <(testkit client "$FLAVOUR" dump)
    page="bench/$(date +%F)-impact-$FLAVOUR"
    [[ $memory == 2G ]] || page+="-$memory"
    mkdir -p "$WORK/price"
    penstock bench impact --socket "$SOURCE_SOCKET" --user root --warehouses "$warehouses" --connections "$connections" \
        --alone "$alone" --measure "$measure" --runs "$runs" --mysqldump "${dump[*]}" --scratch "$WORK" \
        --to "$WORK/price" "${more[@]}" "${method[@]}" | tee "$WORK/out"
    {
        printf '# Measured runs: the price of a backup\n\n- date: %s\n- machine: %s\n- server: %s\n- penstock: %s\n\n```\n' \
            "$(date -u +%FT%RZ)" "$(nproc) cores, Linux $(uname -r), load at the start $load" \
            "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), as installed but for a buffer pool of ${memory}iB and 2 GiB of redo log" \
            "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
        # Where the servers lived says nothing to the reader.
        sed -e '1{/^$/d}' -e '/^  report /d' -e "s#$WORK/##g" "$WORK/out"
        printf '```\n'
    } >"$page.md"
    sed "s#$WORK/##g" "$WORK/price/run.json" >"$page.json"
    title "Recorded as $page.md and $page.json; penstock report $page.json makes the page"
}
