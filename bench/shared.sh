# What all benchmarks share: options, servers, one measured command, and where recordings go. ./dev bench NAME sources
# this file and bench/NAME/run.sh. bench/README.md says what the figures mean.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of each run.sh

# ---------------------------------------------------------------- options

# options BENCH "NAME NAME+ …" ARGUMENT…: sets the caller's variable of that name to the value of `--name value`. Where
# the name ends in +, option and value are appended to the array of that name.
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
    FLAVOUR=$flavour
    [[ $FLAVOUR == mysql || $FLAVOUR == mariadb ]] || die "no flavour '$FLAVOUR'" "mysql or mariadb"
}

# ---------------------------------------------------------------- one measured run

# Processor time of a process so far, with that of its children that have ended, in hundredths of a second.
ticks() {
    local stat
    stat=$(<"/proc/$1/stat")
    # The program's name is in parentheses; counted after it, user and system time are fields 12 and 13, and those of
    # the children are the next two.
    read -ra stat <<<"${stat##*) }"
    printf '%s' $((stat[11] + stat[12] + stat[13] + stat[14]))
}

# record KIND FIELD… writes one line for `testkit report`.
record() { (IFS=$'\t'; printf '%s\n' "$*" >>"$RUNS"); }

# What the last command left to the disk, deleted files above all, must not count against the next.
settle() { sync; sleep 0.5; }

# measure GROUP NAME SERVER_PID COMMAND… records wall time, processor time and peak memory of a command. MEASURED is
# empty if it is another tool's, and failed.
measure() {
    local group=$1 name=$2 pid=$3 before after wall user system peak
    shift 3
    settle
    before=0
    [[ ! -r /proc/$pid/stat ]] || before=$(ticks "$pid")
    if ! /usr/bin/time -q -f '%e %U %S %M' -o "$WORK/time" "$@" >"$WORK/out" 2>&1 </dev/null; then
        tail -n 15 "$WORK/out" >&2
        [[ $name != penstock* && $name != limit* ]] || die "$group, $name: failed"
        # Another tool that fails has a row that says so.
        record failed "$group" "$name" "$(grep -v '^[[:space:]]*$' "$WORK/out" | tail -n 1 | tr '\t' ' ' | cut -c 1-200)"
        say "$(printf '%-42s %-42s %7s' "$group" "$name" failed)"
        MEASURED=''
        return
    fi
    MEASURED=1
    local server=-
    # A server that was stopped and started during the command has lost its counters.
    if [[ -r /proc/$pid/stat ]]; then
        after=$(ticks "$pid")
        server=$(as_hundredths $((after - before)))
    fi
    read -r wall user system peak <"$WORK/time"
    record run "$group" "$name" "$wall" "$(add_seconds "$user" "$system")" "$peak" "$server"
    say "$(printf '%-42s %-42s %7s s' "$group" "$name" "$wall")"
}

# load_run GROUP NAME SCHEMA COMMAND…: as `measure`, for a load into the target. In the first run the target's rows are
# compared with the source's by CHECKSUM TABLE, outside of the measured time.
load_run() {
    local group=$1 name=$2 from=$3
    shift 3
    measure "$group" "$name" "$TARGET_PID" "$@"
    if ((RUN == 1)) && [[ -n $MEASURED ]]; then
        testkit checksum --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --schema "$from" >"$WORK/out" 2>&1 ||
            { cat "$WORK/out" >&2; die "$group, $name: the copy differs"; }
    fi
}

# fed_from FILE COMMAND…: sets FED_FROM to a command that runs COMMAND with the file as its standard input, for `measure`,
# which gives commands none.
fed_from() {
    # shellcheck disable=SC2016 # variables of the inner shell
    FED_FROM=(bash -c 'from=$1; shift; exec "$@" <"$from"' _ "$@")
}

# The sum of two figures with two decimals.
add_seconds() { as_hundredths $((10#${1/./} + 10#${2/./})); }
# 1234 as 12.34.
as_hundredths() { printf '%d.%02d' $(($1 / 100)) $(($1 % 100)); }

# ---------------------------------------------------------------- the servers

# A source server full of data, and what every benchmark needs to know about it; sets schema, rows, bytes.
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
    TARGET_LOGIN=(--no-defaults --user=root --socket="$WORK/target/sock")
    STOCK_DUMP=("${DUMP[@]}" "${SOURCE_LOGIN[@]}" "${DUMP_OPTIONS[@]}")
    # For penstock and myloader: where to load, and the same with two workers.
    TARGET_AT=(--socket "$WORK/target/sock" --user root)
    TO_TARGET=("${TARGET_AT[@]}" --threads 2)
    record fact data "$data: $(as_count "$rows") rows, $((bytes / 1000000)) MB as text"
    say "one read to warm the server up"
    testkit drain --socket "$SOURCE_SOCKET" --schema "$schema" >"$WORK/out"
}

# What a reader of the recording has to know about the machine and the programs.
bench_facts() {
    local memory
    memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
    record fact date "$(date -u +%FT%RZ)"
    record fact machine "$(nproc) cores, $((memory / 1048576)) GiB, Linux $(uname -r), load at the start $(cut -d ' ' -f 1 /proc/loadavg)"
    record fact server "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), unix socket, on the same machine, a buffer pool of ${MEMORY:-2G}iB"
    record fact penstock "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
    record fact 'dump limit' 'the same SELECTs, read by 2 connections of the same driver and thrown away (testkit drain)'
    record fact 'load limit' 'the same chunks, loaded by LOAD DATA of the stock client on 2 connections'
    record fact 'best settings' "an empty server, no binary log, flush_log_at_trx_commit=0$([[ $FLAVOUR == mysql ]] && echo ', redo log off')"
    [[ $2 != tpcc ]] || record fact warehouses "$1"
    MYDUMPER=${MYDUMPER:-$(command -v mydumper || true)}
    MYLOADER=${MYLOADER:-$(command -v myloader || true)}
    if [[ -n $MYDUMPER ]]; then
        record fact mydumper "$("$MYDUMPER" --version | head -n 1)"
    else
        record fact mydumper 'not on this machine'
    fi
}

# Sets the caller's `load`, and warns if other programs keep this machine busy.
machine_load() {
    load=$(cut -d ' ' -f 1 /proc/loadavg)
    ((10#${load/./} < 100)) || say "this machine is busy (load $load): the figures will not be worth much"
}

# An empty target with the best settings for a load: no binary log, no sync at commit, on MySQL no redo log.
best_target() {
    [[ -z ${TARGET_UP:-} ]] || server_down target
    local args
    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    server target "$FLAVOUR" --server-id=2 --skip-log-bin "${args[@]}"
    TARGET_UP=1
    if [[ $FLAVOUR == mysql ]]; then
        testkit sql --socket "$TARGET_SOCKET" 'ALTER INSTANCE DISABLE INNODB REDO_LOG'
    fi
}

# follow SOURCE_SOCKET PORT REPLICA_SOCKET: points a server at another as its source, from where its binary log begins; it
# does not start to replicate.
follow() {
    local source=$1 port=$2 replica=$3 to
    to="CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=$port, MASTER_USER='follower', MASTER_PASSWORD='follower'"
    [[ $FLAVOUR == mariadb ]] || to="CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=$port, SOURCE_USER='follower', SOURCE_PASSWORD='follower', GET_SOURCE_PUBLIC_KEY=1"
    testkit sql --socket "$source" "CREATE USER follower@'%' IDENTIFIED BY 'follower'" >"$WORK/out"
    testkit sql --socket "$source" "GRANT REPLICATION SLAVE ON *.* TO follower@'%'" >"$WORK/out"
    testkit sql --socket "$replica" "$to" >"$WORK/out"
}

# ---------------------------------------------------------------- recordings

# new_recording BENCH KIND: moves earlier recordings of this kind into bench/BENCH/history and sets RECORDING to the
# path of the new one, without its ending. A recording is never overwritten: where history has the name, a number is
# added. Called when all is measured, so that a run that fails moves nothing.
new_recording() {
    local bench=bench/$1 kind=$2 file name ending to n
    for file in "$bench"/[0-9]*-"$kind".{json,md}; do
        name=${file##*/}
        # Eleven characters are date and hyphen; without this, kind `mysql` would take `2026-11-22-tpcc-mysql.md` too.
        [[ -e $file && ${name:11} == "$kind."* ]] || continue
        mkdir -p "$bench/history"
        name=${name%.*}
        to=$bench/history/$name n=1
        while compgen -G "$to.*" >/dev/null; do n=$((n + 1)) to=$bench/history/$name-$n; done
        for ending in json md; do
            [[ ! -e $bench/$name.$ending ]] || mv "$bench/$name.$ending" "$to.$ending"
        done
    done
    RECORDING=$bench/$(date -u +%F)-$kind
}

# recorded_page PAGE BENCH: a page up to its heading "Recorded", and behind it the recordings of a benchmark.
recorded_page() {
    local file
    sed '/^## Recorded$/q' "$1"
    for file in bench/"$2"/[0-9]*.md; do
        [[ -e $file ]] || continue
        printf '\n'
        sed 's/^# /### /' "$file"
    done
}

# put_recorded_page PAGE BENCH: writes it.
put_recorded_page() {
    recorded_page "$1" "$2" >"$WORK/page.md"
    cp "$WORK/page.md" "$1"
}

# keep_report BENCH KIND: what was recorded, as a table and as JSON.
keep_report() {
    new_recording "$1" "$2"
    title "Recorded as $RECORDING.md and $RECORDING.json"
    testkit report --runs "$RUNS" --markdown "$RECORDING.md" --json "$RECORDING.json"
    say "./dev performance puts the newest recordings into docs/performance.md and README.md"
}
