# ./dev bench store: dumps into a directory, over ssh and into S3, plain and encrypted; through a link of a known speed;
# and the list of a large repository.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

# Bytes per second of the slow link.
LINK=40000000

bench_store() {
    local flavour=mysql warehouses=10 runs=3 only='dump link restore list' all part kind
    all=$only
    options store 'flavour warehouses runs only' "$@"
    only=${only//,/ }
    for part in $only; do
        [[ " $all " == *" $part "* ]] || die "--only $part: ${all// /, }, or several of them"
    done
    need sshd:openssh-server ssh:openssh-client age:age
    [[ " $only " != *' restore '* ]] || need restic:restic
    need_s3s
    bench_source "$warehouses" tpcc
    store_servers
    record fact 'places' "sshd and s3s-fs on this machine; the slow link carries $((LINK / 1000000)) MB/s in each direction"
    [[ " $only " != *' restore '* ]] || record fact 'restic' "$(restic version | cut -d ' ' -f 1,2)"

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        for part in ${only/list/}; do "store_$part"; done
    done
    [[ " $only " != *' list '* ]] || store_list
    [[ " $only " != *' dump '* ]] || store_dump_goals
    [[ " $only " != *' link '* ]] || store_link_goals

    kind=$FLAVOUR
    ((warehouses == 10)) || kind+=-w$warehouses
    [[ $only == "$all" ]] || kind+=-${only// /-}
    keep_report store "$kind"
}

# store_server NAME: starts it and sets the caller's variables of the lines that it prints, and far to its process.
store_server() {
    testkit store "$1" --rate "$LINK" >"$WORK/$1.out" 2>"$WORK/$1.err" &
    BACKGROUND+=("$!")
    until grep -q '^ready=' "$WORK/$1.out"; do
        kill -0 "$!" 2>/dev/null || die "$1 ended: $(<"$WORK/$1.err")"
        sleep 0.1
    done
    read_values <"$WORK/$1.out"
    far=$(cat "/proc/$!"/task/*/children)
    far=${far%% *}
}

store_servers() {
    local port link id secret ssh bucket ready far
    store_server s3s
    S3="s3://backups/NAME?endpoint=http://127.0.0.1:$port&region=us-east-1"
    S3_LINK="s3://backups/NAME?endpoint=http://127.0.0.1:$link&region=us-east-1"
    S3_PORT=$port BUCKET=$bucket S3_PID=$far
    export AWS_ACCESS_KEY_ID=$id AWS_SECRET_ACCESS_KEY=$secret
    store_server ssh
    # The link has another port, and the same host key.
    export PENSTOCK_SSH="$ssh -oHostKeyAlias=[127.0.0.1]:$port"
    SSH="ssh://$(id -un)@127.0.0.1:$port$WORK/ssh" SSH_LINK="ssh://$(id -un)@127.0.0.1:$link$WORK/ssh"
    # For the sftp of OpenSSH: the same options, and the ports.
    read -ra SFTP <<<"sftp ${PENSTOCK_SSH#* } -q"
    SSH_PORT=$port SSH_LINK_PORT=$link SSH_PID=$far
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

# put_by_sftp GROUP NAME PORT DIRECTORY: the files of an archive, sent by OpenSSH's own client.
put_by_sftp() {
    local group=$1 name=$2 port=$3 from=$4
    mkdir -p "$WORK/ssh"
    echo "put -r $from $WORK/ssh/put" >"$WORK/batch"
    mkdir -p "$WORK/ssh/put"
    measure "$group" "$name" "$SSH_PID" "${SFTP[@]}" -b "$WORK/batch" -P "$port" "$(id -un)@127.0.0.1"
}

# with_share DIRECTORY CPU: the time of a dump into a directory, in hundredths, and what CPU, in hundredths of a second,
# takes when all cores share it.
with_share() { as_hundredths $(($1 + $2 / $(nproc))); }

# The last command's time, in hundredths; and its own processor time.
last_wall() { local wall rest; read -r wall rest <"$WORK/time"; printf '%d' $((10#${wall/./})); }
last_cpu() { local wall user system rest; read -r wall user system rest <"$WORK/time"; printf '%d' $((10#${user/./} + 10#${system/./})); }

# On one machine the far side takes its time from the same cores: the least that a dump to it can take is the dump into
# a directory and the far side's share.
store_dump() {
    local group='dump, 2 workers' four='dump, 4 workers, memory' slow='dump at 100 MiB/s of rows, 2 workers' directory before
    rm -rf "$WORK"/plain* "$WORK"/ssh "$BUCKET"/*
    record bytes "$group" "$bytes"
    dump_to "$group" 'directory' "$WORK/plain" --threads 2
    directory=$(last_wall)
    before=$(ticks "$S3_PID")
    dump_to "$group" 'S3' "${S3/NAME/two}" --threads 2
    record run "$group" 'limit: directory, and the S3 server' "$(with_share "$directory" $(($(ticks "$S3_PID") - before)))" - - -
    dump_to "$group" 'ssh' "$SSH/two" --threads 2
    before=$(ticks "$SSH_PID")
    put_by_sftp 'the files of that directory, by sftp' 'sftp' "$SSH_PORT" "$WORK/plain"
    record run "$group" 'limit: directory, and ssh and sshd' "$(with_share "$directory" $(($(ticks "$SSH_PID") - before + $(last_cpu))))" - - -
    dump_to "$group" 'directory, encrypted' "$WORK/plain-age" --threads 2 --encrypt-to "$RECIPIENT"
    dump_to "$group" 'S3, encrypted' "${S3/NAME/two-age}" --threads 2 --encrypt-to "$RECIPIENT"
    rm -rf "$WORK"/plain* "$WORK"/ssh "$BUCKET"/*
    record bytes "$slow" "$bytes"
    dump_to "$slow" 'directory' "$WORK/plain" --threads 2 --max-rate 100M
    dump_to "$slow" 'S3' "${S3/NAME/slow}" --threads 2 --max-rate 100M
    dump_to "$slow" 'ssh' "$SSH/slow" --threads 2 --max-rate 100M
    rm -rf "$WORK"/plain* "$WORK"/ssh "$BUCKET"/*
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
        LEAST=$(as_hundredths $((stored / (LINK / 100))))
    fi
    record run "$group" 'limit: the bytes at the speed of the link' "$LEAST" - - -
    if ((RUN == 1)); then
        put_by_sftp "$group" 'sftp, the same files from a directory' "$SSH_LINK_PORT" "$WORK/raw"
        rm -rf "$WORK/raw" "$WORK/ssh"
    fi
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

# A thousand entries of the catalog, made from one; read one by one, and from the copies that a backup and a prune write.
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

# 0.9 of the speed is 1.11 of the time.
store_dump_goals() {
    local dump='dump, 2 workers' slow='dump at 100 MiB/s of rows, 2 workers'
    record goal "$dump" 'S3' 1.11 'directory'
    record goal "$dump" 'S3' 1.11 'limit: directory, and the S3 server'
    record goal "$dump" 'ssh' 1.11 'directory'
    record goal "$dump" 'ssh' 1.11 'limit: directory, and ssh and sshd'
    record goal "$dump" 'directory, encrypted' 1.15 'directory'
    record goal "$slow" 'S3' 1.11 'directory'
    record goal "$slow" 'ssh' 1.11 'directory'
}

store_link_goals() {
    local link="dump through a link of $((LINK / 1000000)) MB/s, no compression"
    record goal "$link" 'S3' 1.05 'limit: the bytes at the speed of the link'
    record goal "$link" 'ssh' 1.05 'limit: the bytes at the speed of the link'
}
