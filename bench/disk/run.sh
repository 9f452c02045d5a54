# ./dev bench disk: what a directory of this machine can do as a place of a server's files; with --against fio, the same
# patterns by fio on files of the same size, in turns; with --against server, what TPC-C makes a server read and write; with
# --against self, all of it twice, and which figures are the same.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./dev and of bench/shared.sh

bench_disk() {
    local flavour=mysql dir=$WORK size=1G runs=5 measure=3 against=none load warehouses=6 memory=64M connections=16
    options disk 'dir size runs measure against flavour warehouses memory connections' "$@"
    [[ $against == none || $against == fio || $against == server || $against == self ]] || die "no comparison with '$against'" "--against fio, --against server or --against self"
    need_tools
    build penstock
    machine_load
    local facts
    facts=$(disk_facts)
    if [[ $against == server ]]; then
        disk_of_tpcc
        return
    fi
    if [[ $against == fio ]]; then
        need fio:fio jq:jq
        disk_against_fio
        return
    fi
    if [[ $against == self ]]; then
        need jq:jq
        disk_twice
        return
    fi
    penstock bench disk "$dir" --size "$size" --runs "$runs" --measure "${measure}s" --record "$WORK/disk.json" | tee "$WORK/disk.txt"
    new_recording disk usual
    cp "$WORK/disk.json" "$RECORDING.json"
    {
        printf '# What a directory can do\n\n%s\n\n```' "$facts"
        cat "$WORK/disk.txt"
        printf '```\n'
    } >"$RECORDING.md"
    title "Recorded as $RECORDING.md and $RECORDING.json"
}

# Twice the same: figures that differ by more than 10 % have to be among the doubts of a run.
disk_twice() {
    local run
    for run in first second; do
        penstock bench disk "$dir" --size "$size" --runs "$runs" --measure "${measure}s" --record "$WORK/$run.json" | tee "$WORK/$run.txt"
    done
    disk_twice_table | tee "$WORK/twice.md"
    new_recording disk twice
    cp "$WORK/twice.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

disk_twice_table() {
    local figure first second change verdict size_of said all=0 near=0 named=0
    penstock bench compare "$WORK/first.json" "$WORK/second.json" --json --quiet | sed -n '/"event":"summary"/p' >"$WORK/compared.json"
    grep -h -A 9 '^  doubts:' "$WORK/first.txt" "$WORK/second.txt" >"$WORK/doubts" || true
    printf '# penstock bench disk, twice\n\n%s\n- a file of %s, %s runs of %s s, and the same again\n\n' "$facts" "$size" "$runs" "$measure"
    printf 'Medians. A figure that differs by more than 10 %% has to be among the doubts of one of the two runs.\n\n'
    printf '| figure | first | second | change | by the rank-sum test | among the doubts |\n|---|--:|--:|--:|---|---|\n'
    while IFS=$'\t' read -r figure first second change verdict; do
        all=$((all + 1))
        said=no
        ! grep -qF "$figure (" "$WORK/doubts" || said=yes
        size_of=${change#-}
        if awk -v c="$size_of" 'BEGIN { exit !(c <= 10) }'; then
            near=$((near + 1))
        elif [[ $said == yes ]]; then
            named=$((named + 1))
        fi
        printf '| %s | %s | %s | %s %% | %s | %s |\n' "$figure" "$first" "$second" "$change" "$verdict" "$said"
    done < <(jq -r 'def n: if . >= 1e7 then "\(. / 1e6 | round) MB/s" else "\(round)" end;
        .figures[] | [.figure, (.a.middle | n), (.b.middle | n), (.change * 1000 | round / 10 | tostring), .verdict] | @tsv' "$WORK/compared.json")
    printf '\n%s of %s figures are within 10 %%. Of the %s others, %s are among the doubts.\n' "$near" "$all" $((all - near)) "$named"
}

disk_facts() {
    local memory
    memory=$(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo)
    printf -- '- date: %s\n- machine: %s cores, %s GiB, Linux %s, load at the start %s\n- directory: on %s\n- penstock: %s, %s' \
        "$(date -u +%FT%RZ)" "$(nproc)" "$((memory / 1048576))" "$(uname -r)" "$load" "$(df --output=fstype,source "$dir" | tail -n 1 | tr -s ' ')" \
        "$(penstock --version)" "$(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
}

# The patterns that fio has, too: its words for each. Group commit, doublewrite, small files and the mix it has not.
disk_fio_words() {
    local pages=(--bs=16k --ioengine=io_uring --filename="$FIO/data" --size="$size")
    local blocks=(--bs=1M --ioengine=psync --size="$size")
    # Blocks of 512 bytes to 4 KiB in a file that goes round, through the page cache, as penstock writes a log.
    local log=(--rw=write --bssplit=512/25:1k/25:2k/25:4k/25 --ioengine=psync --direct=0 --filename="$FIO/log" --size=64M --time_based)
    case $1 in
    write) WORDS=("${blocks[@]}" --rw=write --filename="$FIO/new" --fallocate=none --end_fsync=1) ;;
    write_preallocated) WORDS=("${blocks[@]}" --rw=write --filename="$FIO/new" --fallocate=native --end_fsync=1) ;;
    rewrite) WORDS=("${blocks[@]}" --rw=write --filename="$FIO/data" --time_based --ramp_time=1 --end_fsync=1) ;;
    read) WORDS=("${blocks[@]}" --rw=read --filename="$FIO/data" --time_based --ramp_time=1) ;;
    random_read_*) WORDS=("${pages[@]}" --rw=randread --iodepth="${1##*_}" --time_based --ramp_time=1) ;;
    random_write_*) WORDS=("${pages[@]}" --rw=randwrite --iodepth="${1##*_}" --time_based --ramp_time=1 --end_fsync=1) ;;
    commit_1) WORDS=("${log[@]}" --ramp_time=1 --fdatasync=1) ;;
    commit_fsync_1) WORDS=("${log[@]}" --ramp_time=1 --fsync=1) ;;
    *) return 1 ;;
    esac
}

# disk_fio PATTERN: prints the rate: bytes or operations a second.
disk_fio() {
    local side=write what=iops
    [[ $1 != *read* ]] || side=read
    [[ $1 != write* && $1 != rewrite && $1 != read ]] || what=bw_bytes
    disk_fio_words "$1"
    rm -f "$FIO/new"
    fio --name="$1" --direct=1 --runtime="$measure" --norandommap --randrepeat=0 --output-format=json "${WORDS[@]}" >"$WORK/fio.json" ||
        die "fio failed: $1"
    jq -r ".jobs[0].$side.$what" "$WORK/fio.json"
}

# The files for fio are in the directory that is measured, which the cleanup of ./dev does not know.
disk_cleanup() {
    local code=$?
    set +e
    rm -rf "${FIO:?}"
    (exit "$code")
    cleanup
}

disk_against_fio() {
    local group run pattern value WORDS
    local -A patterns=(
        [sequential]='write write_preallocated rewrite read'
        [random-read]='random_read_1 random_read_4 random_read_16 random_read_64'
        [random-write]='random_write_1 random_write_4 random_write_16 random_write_64'
        [commit]='commit_1 commit_fsync_1'
    )
    FIO=$dir/penstock-bench-fio.$$
    mkdir "$FIO"
    trap disk_cleanup EXIT
    say "files for fio"
    fio --name=fill --rw=write --bs=1M --direct=1 --size="$size" --filename="$FIO/data" --end_fsync=1 >"$WORK/out"
    fio --name=fill --rw=write --bs=1M --size=64M --filename="$FIO/log" --end_fsync=1 >"$WORK/out"
    : >"$WORK/rates"
    for ((run = 1; run <= runs; run++)); do
        for group in sequential random-read random-write commit; do
            say "run $run of $runs: $group"
            penstock bench disk "$dir" --size "$size" --runs 1 --measure "${measure}s" --pattern "$group" --json --quiet >"$WORK/disk.json"
            jq -r 'select(.event == "summary") | .volumes[0].patterns | to_entries[] | [.key, "penstock", .value.rate.median] | @tsv' "$WORK/disk.json" >>"$WORK/rates"
            for pattern in ${patterns[$group]}; do
                value=$(disk_fio "$pattern")
                printf '%s\tfio\t%s\n' "$pattern" "$value" >>"$WORK/rates"
            done
        done
    done
    rm -rf "$FIO"
    {
        printf '# penstock bench disk beside fio\n\n%s\n- fio: %s\n- a file of %s, %s runs of %s s in turns; load at the end %s\n\n' \
            "$facts" "$(fio --version)" "$size" "$runs" "$measure" "$(cut -d ' ' -f 1 /proc/loadavg)"
        printf 'Medians, with the least and the most of the runs. MB/s for sequential patterns, else operations a second.\n\n'
        printf '| pattern | penstock | fio | penstock / fio | ranges overlap |\n|---|--:|--:|--:|---|\n'
        disk_table
        # shellcheck disable=SC2016 # no expansion is meant
        printf '\nGroup commit, doublewrite, small files and the mix have no counterpart in fio.\n'
    } | tee "$WORK/fio.md"
    new_recording disk fio
    cp "$WORK/fio.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

# What one New-Order of TPC-C causes in a server: the numbers of the mixed pattern (bench/src/disk/estimate.rs).
disk_of_tpcc() {
    local counters=(Innodb_pages_read Innodb_pages_written Innodb_os_log_fsyncs Innodb_os_log_written Innodb_data_fsyncs) name orders value io
    local -A before
    # `fill` and `measure` have variables of the same names.
    local of_tpcc=$measure of_warehouses=$warehouses
    need_flavour "$FLAVOUR"
    build penstock testkit
    export PENSTOCK_STATE="$WORK/state"
    server source "$FLAVOUR" --innodb-buffer-pool-size="$memory" --innodb-flush-method=O_DIRECT --innodb-flush-log-at-trx-commit=1 \
        --sync-binlog=1 --log-bin=binlog --server-id=1
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$of_warehouses"
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$connections" --ramp 1s --measure 20s >"$WORK/out"
    for name in "${counters[@]}"; do before[$name]=$(disk_counter "$name"); done
    io=$(awk '$1 == "write_bytes:" { print $2 }' "/proc/$SOURCE_PID/io")
    penstock bench tpcc run --quiet --json --socket "$SOURCE_SOCKET" --user root -c "$connections" --ramp 0s --measure "${of_tpcc}s" >"$WORK/tpcc.json"
    orders=$(sed -n 's/.*"new_order":{"count":[0-9]*,"committed":\([0-9]*\).*/\1/p' "$WORK/tpcc.json")
    {
        printf '# What a New-Order of TPC-C causes, %s\n\n%s\n- server: %s, pool %s, %s warehouses, %s connections, flush_log_at_trx_commit and sync_binlog 1, %s s\n\n' \
            "$FLAVOUR" "$facts" "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//')" "$memory" "$of_warehouses" "$connections" "$of_tpcc"
        printf '| for each of %s New-Orders, with its part of the other transactions | |\n|---|--:|\n' "$(as_count "$orders")"
        for name in "${counters[@]}"; do
            value=$(($(disk_counter "$name") - ${before[$name]}))
            printf '| %s | %s |\n' "$name" "$(as_hundredths $((value * 100 / orders)))"
        done
        value=$(($(awk '$1 == "write_bytes:" { print $2 }' "/proc/$SOURCE_PID/io") - io))
        printf '| bytes written to disks (/proc/PID/io) | %s |\n' "$((value / orders))"
    } | tee "$WORK/model.md"
    new_recording disk "tpcc-$FLAVOUR-$memory"
    cp "$WORK/model.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
}

# A counter of the server.
disk_counter() {
    local value
    value=$(testkit sql --socket "$SOURCE_SOCKET" "SHOW GLOBAL STATUS LIKE '$1'" | awk '{ print $2 }')
    printf '%s' "${value:-0}"
}

# The rates as a table.
disk_table() {
    local pattern
    for pattern in $(cut -f 1 "$WORK/rates" | awk '!seen[$1]++'); do
        awk -F '\t' -v p="$pattern" '$1 == p' "$WORK/rates" | sort -t $'\t' -k 2,2 -k 3,3g | awk -F '\t' '
            { n[$2]++; v[$2, n[$2]] = $3 }
            function at(t, i) { return v[t, i] * factor }
            function median(t) { return (at(t, int((n[t] + 1) / 2)) + at(t, int(n[t] / 2) + 1)) / 2 }
            function f(x) { return x >= 100 ? sprintf("%.0f", x) : sprintf("%.1f", x) }
            function cell(t) { return f(median(t)) " (" f(at(t, 1)) " … " f(at(t, n[t])) ")" }
            END {
                factor = $1 ~ /^(write|rewrite|read)/ ? 1e-6 : 1
                if (!n["fio"] || !n["penstock"]) exit
                overlap = at("penstock", 1) <= at("fio", n["fio"]) && at("fio", 1) <= at("penstock", n["penstock"])
                printf "| %s | %s | %s | %.2f | %s |\n", $1, cell("penstock"), cell("fio"), median("penstock") / median("fio"), overlap ? "yes" : "no"
            }'
    done
}
