# ./dev bench impact: what a backup costs TPC-C, on servers as installed but for memory: durable commits, binary log,
# doublewrite.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_impact() {
    local flavour=mysql warehouses=10 runs=3 connections=8 alone=20s measure=40s replica=yes memory=2G label='' kind
    local more=() method=()
    options impact 'flavour warehouses runs connections alone measure replica memory label method+' "$@"
    need_flavour "$FLAVOUR"
    need gzip:gzip
    build penstock testkit
    local load args dump socket='' pid='' port='' place=$WORK
    machine_load
    mapfile -t args < <(roomy "$FLAVOUR" 2G)
    args+=(--innodb-buffer-pool-size="$memory" --innodb-flush-log-at-trx-commit=1 --log-bin=binlog)
    # A source that waits for nobody as long as nobody follows it so.
    if [[ "${method[*]}" == *--semisync* ]]; then
        case $FLAVOUR in
        mysql) args+=(--plugin-load-add=semisync_source.so --loose-rpl-semi-sync-source-enabled=ON --loose-rpl-semi-sync-source-wait-no-replica=OFF) ;;
        mariadb) args+=(--rpl-semi-sync-master-enabled=ON --rpl-semi-sync-master-wait-no-slave=OFF) ;;
        esac
    fi
    if [[ "${method[*]}" == *reflink* ]]; then
        # shellcheck source=bench/machine.sh
        source bench/machine.sh
        loop_directory volume 12G xfs || die 'no file system that shares blocks' "$LACKING"
        place=$LOOP_DIRECTORY
    fi
    read_values < <(testkit server up "$FLAVOUR" --dir "$place/source" --port -- --server-id=1 "${args[@]}")
    # Before what it lies on goes.
    [[ $place == "$WORK" ]] || at_end testkit server down --dir "$place/source"
    SOURCE_SOCKET=$socket
    if [[ $replica == yes ]]; then
        local source_port=$port
        read_values < <(testkit server up "$FLAVOUR" --dir "$WORK/replica" -- --server-id=2 "${args[@]}")
        follow "$SOURCE_SOCKET" "$source_port" "$socket"
        more+=(--replica "mysql://root@localhost/?socket=$socket")
    fi
    if [[ ${#method[@]} == 0 || "${method[*]}" == *mysqldump* || "${method[*]}" == *mariadb-dump* ]]; then
        mapfile -t dump < <(testkit client "$FLAVOUR" dump)
        more+=(--mysqldump "${dump[*]}")
    fi
    if [[ "${method[*]}" == *--from-snapshot* ]]; then
        # Temporary servers are searched for on PATH.
        local name=mysqld program
        [[ $FLAVOUR == mysql ]] || name=mariadbd
        mkdir "$WORK/programs"
        program=$(testkit program "$FLAVOUR" "$WORK/program")
        printf '#!/bin/sh\nexec "%s" "$@"\n' "$program" >"$WORK/programs/$name"
        chmod +x "$WORK/programs/$name"
        PATH="$WORK/programs:$PATH"
    fi
    mkdir -p "$WORK/impact"
    penstock bench impact --socket "$SOURCE_SOCKET" --user root --warehouses "$warehouses" --connections "$connections" \
        --alone "$alone" --measure "$measure" --runs "$runs" --scratch "$WORK" \
        --to "$WORK/impact" "${more[@]}" "${method[@]}" | tee "$WORK/out"

    # A run of some methods only must not take the place of a run of all.
    [[ -n $label || ${#method[@]} == 0 ]] || label=partial
    kind=$FLAVOUR
    [[ $memory == 2G ]] || kind+="-$memory"
    ((warehouses == 10)) || kind+=-w$warehouses
    [[ -z $label ]] || kind+="-$label"
    new_recording impact "$kind"
    {
        printf '# Measured runs: what a backup costs\n\n- date: %s\n- machine: %s\n- server: %s\n- penstock: %s\n\n```\n' \
            "$(date -u +%FT%RZ)" "$(nproc) cores, Linux $(uname -r), load at the start $load" \
            "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//'), as installed but for a buffer pool of ${memory}iB and 2 GiB of redo log" \
            "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
        # Paths of this run's own servers say nothing to the reader.
        sed -e '1{/^$/d}' -e '/^  report /d' -e "s#$place/##g" -e "s#$WORK/##g" "$WORK/out"
        printf '```\n'
    } >"$RECORDING.md"
    sed -e "s#$place/##g" -e "s#$WORK/##g" "$WORK/impact/run.json" >"$RECORDING.json"
    title "Recorded as $RECORDING.md and $RECORDING.json; penstock report $RECORDING.json makes the page"
    say "./dev performance puts the newest recordings into docs/performance.md and README.md"
}
