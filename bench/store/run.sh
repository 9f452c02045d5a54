# ./dev bench store: dumps into a directory, over ssh and into S3, plain and encrypted; through a link of a known speed;
# and the list of a large repository.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

# Bytes per second of the slow link.
LINK=40000000

bench_store() {
    local flavour=mysql warehouses=10 runs=3 kind
    options store 'flavour warehouses runs' "$@"
    need sshd:openssh-server ssh:openssh-client age:age restic:restic
    need_s3s
    bench_source "$warehouses" tpcc
    store_servers
    record fact 'places' "sshd and s3s-fs on this machine; the slow link carries $((LINK / 1000000)) MB/s in each direction"
    record fact 'restic' "$(restic version | cut -d ' ' -f 1,2)"

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        store_dump
        store_link
        store_restore
    done
    store_list
    store_goals

    kind=$FLAVOUR
    ((warehouses == 10)) || kind+=-w$warehouses
    keep_report store "$kind"
}

# store_server NAME: starts it and sets the caller's variables of the lines that it prints.
store_server() {
    testkit store "$1" --rate "$LINK" >"$WORK/$1.out" 2>"$WORK/$1.err" &
    BACKGROUND+=("$!")
    until grep -q '^ready=' "$WORK/$1.out"; do
        kill -0 "$!" 2>/dev/null || die "$1 ended: $(<"$WORK/$1.err")"
        sleep 0.1
    done
    read_values <"$WORK/$1.out"
}

store_servers() {
    local port link id secret ssh bucket ready
    store_server s3s
    S3="s3://backups/NAME?endpoint=http://127.0.0.1:$port&region=us-east-1"
    S3_LINK="s3://backups/NAME?endpoint=http://127.0.0.1:$link&region=us-east-1"
    S3_PORT=$port S3_LINK_PORT=$link BUCKET=$bucket
    export AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$secret
    store_server ssh
    # The link has another port, and the same host key.
    export PENSTOCK_SSH="$ssh -oHostKeyAlias=[127.0.0.1]:$port"
    SSH="ssh://$(id -un)@127.0.0.1:$port$WORK/ssh" SSH_LINK="ssh://$(id -un)@127.0.0.1:$link$WORK/ssh"
    age-keygen -o "$WORK/identity" 2>"$WORK/recipient"
    RECIPIENT=$(sed 's/.* //' "$WORK/recipient")
}

# dump_to GROUP NAME PLACE OPTION…
dump_to() {
    local group=$1 name=$2 to=$3
    shift 3
    measure "$group" "$name" "$SOURCE_PID" \
        penstock dump --user root --socket "$SOURCE_SOCKET" --schemas "$schema" --to "$to" "$@"
}

store_dump() {
    local group='dump, 2 workers' four='dump, 4 workers, memory'
    rm -rf "$WORK"/plain* "$WORK"/ssh "$BUCKET"/*
    record bytes "$group" "$bytes"
    dump_to "$group" 'directory' "$WORK/plain" --threads 2
    dump_to "$group" 'S3' "${S3/NAME/two}" --threads 2
    dump_to "$group" 'ssh' "$SSH/two" --threads 2
    dump_to "$group" 'directory, encrypted' "$WORK/plain-age" --threads 2 --encrypt-to "$RECIPIENT"
    dump_to "$group" 'S3, encrypted' "${S3/NAME/two-age}" --threads 2 --encrypt-to "$RECIPIENT"
    rm -rf "$WORK"/ssh "$BUCKET"/*
    record bytes "$four" "$bytes"
    dump_to "$four" 'S3, encrypted' "${S3/NAME/four}" --threads 4 --encrypt-to "$RECIPIENT"
    dump_to "$four" 'ssh, encrypted' "$SSH/four" --threads 4 --encrypt-to "$RECIPIENT"
}

# Without compression, so that the link is the limit; the least time is what its bytes take at its speed.
store_link() {
    local group="dump through a link of $((LINK / 1000000)) MB/s, no compression" stored
    rm -rf "$WORK"/ssh "$BUCKET"/* "$WORK/raw"
    if ((RUN == 1)); then
        penstock dump --user root --socket "$SOURCE_SOCKET" --schemas "$schema" --to "$WORK/raw" --threads 2 --compression none >"$WORK/out" 2>&1
        stored=$(du -sb "$WORK/raw" | cut -f 1)
        rm -rf "$WORK/raw"
        LEAST=$(as_hundredths $((stored / (LINK / 100))))
    fi
    record run "$group" 'limit: the bytes at the speed of the link' "$LEAST" - - -
    dump_to "$group" 'S3' "${S3_LINK/NAME/raw}" --threads 2 --compression none
    dump_to "$group" 'ssh' "$SSH_LINK/raw" --threads 2 --compression none
}

# restored NAME COMMAND…: into an empty target.
restored() {
    local name=$1
    shift
    best_target
    load_run 'restore, 2 workers' "$name" "$schema" "$@"
}

# The same rows out and back, beside the usual way to get a dump into a repository of restic.
store_restore() {
    local group='backup into S3, 2 workers' repo="s3:http://127.0.0.1:$S3_PORT/backups/restic" size
    rm -rf "$BUCKET"/*
    record bytes "$group" "$bytes"
    record bytes 'restore, 2 workers' "$bytes"
    penstock init "${S3/NAME/repo}" >"$WORK/out"
    measure "$group" 'penstock backup, encrypted' "$SOURCE_PID" penstock backup shop --repository "${S3/NAME/repo}" \
        --user root --socket "$SOURCE_SOCKET" --include-schemas "$schema" --threads 2 --encrypt-to "$RECIPIENT"
    size=$(du -sb "$BUCKET/repo" | cut -f 1)
    ((RUN > 1)) || record fact 'penstock stored' "$((size / 1000000)) MB"
    restored 'penstock restore, verified' penstock restore --repository "${S3/NAME/repo}" --identity "$WORK/identity" "${TO_TARGET[@]}" --import-mode sql
    export RESTIC_PASSWORD=benchmark RESTIC_CACHE_DIR="$WORK/restic-cache"
    restic -q -r "$repo" init >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die "restic init failed"; }
    # shellcheck disable=SC2016 # variables of the inner shell
    measure "$group" "${DUMP[-1]##*/} | restic" "$SOURCE_PID" bash -c 'set -o pipefail; repo=$1; shift; "$@" | restic -q -r "$repo" backup --stdin --stdin-filename dump.sql' _ \
        "$repo" "${STOCK_DUMP[@]}" --databases "$schema"
    size=$(du -sb "$BUCKET/restic" | cut -f 1)
    ((RUN > 1)) || record fact 'restic stored' "$((size / 1000000)) MB"
    # shellcheck disable=SC2016 # variables of the inner shell
    restored "restic | ${CLIENT[-1]##*/}" bash -c 'set -o pipefail; repo=$1; shift; restic -q -r "$repo" dump latest dump.sql | "$@"' _ \
        "$repo" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
}

# A thousand entries of the catalog, made from one; read one by one, and from the copies that a prune writes.
store_list() {
    local group='list of 1,000 backups in S3' repo=${S3/NAME/large} entry n id
    rm -rf "$BUCKET"/*
    penstock init "$repo" >"$WORK/out"
    penstock backup shop --repository "$repo" --user root --socket "$SOURCE_SOCKET" --include-tables "$schema.warehouse" >"$WORK/out" 2>&1
    entry=$(find "$BUCKET/large/catalog" -name 'shop@*.json' | head -n 1)
    id=${entry##*@}
    id=${id%.json}
    for ((n = 0; n < 999; n++)); do
        local other
        other=$(date -u -d "2020-01-01 +$n hours" +%Y%m%dT%H%M%SZ)-0000
        sed "s/$id/$other/" "$entry" >"$BUCKET/large/catalog/shop@$other.json"
    done
    for ((n = 1; n <= 3; n++)); do
        measure "$group" 'one by one' - penstock list --repository "$repo"
        grep -q '^1,000 backups' "$WORK/out" || die "not a thousand: $(grep -m 1 backups "$WORK/out")"
    done
    penstock prune --repository "$repo" --keep-last 5000 >"$WORK/out" 2>&1
    for ((n = 1; n <= 3; n++)); do
        measure "$group" 'from the copies' - penstock list --repository "$repo"
        grep -q '^1,000 backups' "$WORK/out" || die "not a thousand: $(grep -m 1 backups "$WORK/out")"
    done
}

store_goals() {
    local dump='dump, 2 workers' link="dump through a link of $((LINK / 1000000)) MB/s, no compression"
    # 0.9 of the speed is 1.11 of the time.
    record goal "$dump" 'S3' 1.11 'directory'
    record goal "$dump" 'ssh' 1.11 'directory'
    record goal "$dump" 'directory, encrypted' 1.15 'directory'
    record goal "$link" 'S3' 1.05 'limit: the bytes at the speed of the link'
    record goal "$link" 'ssh' 1.05 'limit: the bytes at the speed of the link'
}
