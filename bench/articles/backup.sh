# ./dev article backup: what a backup takes from the application. The article ran TPC-C and measured it alone, during mysqldump to a backup
# host over ssh, while an LVM snapshot was read by tar over ssh, and while a replica was dumped. Here the same means and penstock's, each
# restored and compared; then a week in small.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/articles/shared.sh

article_backup() {
    local warehouses=$((SCALE * 10)) image=$((SCALE * 12))G args socket='' pid=0 port=0 link=400mbit
    WINDOW=5 ALONE=4 CONNECTIONS=8
    ((SCALE > 0)) || warehouses=1 image=8G WINDOW=2 ALONE=1 CONNECTIONS=2
    found_title 'Backups: what they take from the application, and what they give back'
    article_servers
    need gzip:gzip
    second_host || die "the backup host of this article is missing: $LACKING" "run it as root"
    second_host_ssh "$link" || die "$LACKING"
    found_setting 'backup host' "a network namespace with an ssh server, a link of $link"
    found_setting 'workload' "TPC-C, $warehouses warehouses, $CONNECTIONS connections without think time, durable commits, binary log; the article's had 100 warehouses"
    export PENSTOCK_STATE="$WORK/state"
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    mapfile -t DUMP < <(testkit client "$FLAVOUR" dump)
    DUMP+=(--no-defaults --user=root --single-transaction)
    [[ $FLAVOUR == mariadb ]] || DUMP+=(--set-gtid-purged=OFF)

    PLACE="$WORK/servers" SNAPSHOTS=''
    mkdir -p "$PLACE"
    if loop_directory volume "$image" xfs; then
        PLACE=$LOOP_DIRECTORY SNAPSHOTS=reflink
    else
        found_lacks 'snapshots' '-' "$LACKING"
    fi
    at_end backup_end
    mapfile -t args < <(backup_memory)
    args+=(--innodb-flush-log-at-trx-commit=1 --log-bin=binlog)
    [[ $FLAVOUR == mariadb ]] || args+=(--gtid-mode=ON --enforce-gtid-consistency=ON)
    read_values < <(testkit server up "$FLAVOUR" --dir "$PLACE/source" --port -- "${args[@]}" --server-id=1)
    ((pid)) || die 'the server did not start'
    SOURCE_SOCKET=$socket SOURCE_PORT=$port SOURCE_PID=$pid
    fill tpcc "$FLAVOUR" "$SOURCE_SOCKET" "$warehouses"
    backup_replica "${args[@]}"

    backup_method 'the application alone' '2216 tpmC' backup_nothing -
    backup_method 'mysqldump, over ssh' '1420 tpmC' backup_by_mysqldump backup_load_sql
    if [[ -n $SNAPSHOTS ]]; then
        backup_method 'snapshot of files under a lock, tar over ssh' '214 tpmC (LVM)' backup_by_tar backup_untar
    fi
    dmsetup version >"$WORK/out" 2>&1 || found_lacks 'the same with LVM' '214 tpmC' 'no device mapper on this machine; ./dev test-lvm has one in a guest'
    backup_method 'a replica, stopped and dumped by mysqldump' '2099 tpmC' backup_of_replica backup_load_sql
    backup_method 'penstock dump' '-' backup_by_penstock backup_load
    backup_method 'penstock dump --max-impact 5%' '-' backup_within backup_load
    if [[ -n $SNAPSHOTS ]]; then
        backup_method 'penstock snapshot, as files' '-' backup_by_snapshot backup_restore_files
        backup_method 'penstock snapshot, dumped from its files' '-' backup_from_files backup_load
    fi
    backup_method 'penstock dump of a replica' '-' backup_of_replica_by_penstock backup_load
    backup_week

    found_sentence 'The article lost 36 % of its throughput to mysqldump, 90 % to a snapshot that tar read, and 5 % with a replica; restores were by hand.'
    found_sentence "Here mysqldump left $(backup_share 'mysqldump, over ssh') of the throughput for $(backup_taken 'mysqldump, over ssh'), penstock dump $(backup_share 'penstock dump') for $(backup_taken 'penstock dump'), and with --max-impact 5% $(backup_share 'penstock dump --max-impact 5%') for $(backup_taken 'penstock dump --max-impact 5%'); application, backup and backup host share the cores of this machine."
    found_sentence "Every backup was restored, and its rows satisfied the conditions of TPC-C; a table that was dropped came back as it was a second before."
}

# Memory for the data, and a redo log of which the volume holds several.
backup_memory() {
    roomy "$FLAVOUR" 1G
    case $FLAVOUR in
    mysql) printf '%s\n' --innodb-redo-log-capacity=512M ;;
    mariadb) printf '%s\n' --innodb-log-file-size=512M ;;
    esac
}

# They have to end before what they are on is unmounted.
backup_end() {
    local name
    for name in restored replica source; do
        [[ ! -e $PLACE/$name/state ]] || testkit server down --dir "$PLACE/$name" >/dev/null || true
    done
}

# A replica of the source, made by penstock, caught up.
backup_replica() {
    local socket='' pid=0 port=0
    say 'a replica of it'
    read_values < <(testkit server up "$FLAVOUR" --dir "$PLACE/replica" -- "$@" --server-id=2 --read-only=ON)
    ((pid)) || die 'the replica did not start'
    REPLICA_SOCKET=$socket
    penstock replica create "mysql://root@localhost/?socket=$SOURCE_SOCKET" "mysql://root@localhost/?socket=$REPLICA_SOCKET" \
        --source-address "127.0.0.1:$SOURCE_PORT" --no-defaults --quiet >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die 'the replica could not be made'; }
}

# ---------------------------------------------------------------- one method

# The workload, one window after the other, until the file `stop` is there: throughput and response time of each.
backup_workload() {
    local n=0
    while [[ ! -e $WORK/stop ]]; do
        n=$((n + 1))
        penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$CONNECTIONS" --ramp 0s --measure "${WINDOW}s" --record "$WORK/window.json" >"$WORK/window.out" 2>&1 || return 0
        jq -r '[.figures[] | select(.name == "tpmC" or .name == "p95 of New-Order") | .value] | @tsv' "$WORK/window.json" >>"$WORK/windows"
    done
}

# backup_method WHAT PUBLISHED BACKUP RESTORE: the workload with the backup, then the restore without it.
backup_method() {
    local what=$1 published=$2 backup=$3 restore=$4 begin took workload figures note bytes restored
    rm -rf "$WORK/host2" "$WORK/windows" "$WORK/stop"
    mkdir "$WORK/host2"
    : >"$WORK/windows"
    backup_workload &
    workload=$!
    BACKGROUND+=("$workload")
    sleep 1
    begin=$(now)
    "$backup" || die "$what failed: $(tail -n 5 "$WORK/out")"
    took=$(($(now) - begin))
    # At least a few windows, whatever the backup took.
    until (($(wc -l <"$WORK/windows") >= ALONE)); do
        [[ -e /proc/$workload ]] || { tail -n 3 "$WORK/window.out" >&2; die "$what: the workload ended"; }
        sleep 0.2
    done
    touch "$WORK/stop"
    wait "$workload" || true
    # Windows that began during the backup: the others are not its.
    local during=$(((took / 1000000 + WINDOW) / WINDOW))
    ((during <= $(wc -l <"$WORK/windows"))) && [[ $backup != backup_nothing ]] || during=$(wc -l <"$WORK/windows")
    figures=$(head -n "$during" "$WORK/windows" | awk '{ sum += $1; p += $2; if (NR == 1 || $1 < least) least = $1 } END { printf "%d %d %.1f", sum / NR, least, p / NR }')
    local tpmc=${figures%% *} least p95=${figures##* }
    least=${figures#* } least=${least% *}
    head -n "$during" "$WORK/windows" | awk '{ print $1 }' | backup_points "$what"
    if [[ $restore == - ]]; then
        note="least of ${WINDOW} s $least, p95 $p95 ms"
        BACKUP_ALONE=$tpmc
        printf '%s\t%s\t%s\n' "$what" "$tpmc" 0 >>"$WORK/methods"
    else
        bytes=$(du -sb "$WORK/host2" | cut -f 1)
        begin=$(now)
        "$restore" || die "restore of $what failed: $(tail -n 5 "$WORK/out")"
        restored=$(($(now) - begin))
        backup_proof "$what"
        note="least of ${WINDOW} s $least, p95 $p95 ms; backup $(as_seconds "$took") s, $((bytes / 1000000)) MB; restore $(as_seconds "$restored") s"
        found_bar 'Until the backup is on the backup host' s lower "$what" "$(as_seconds "$took")"
        found_bar 'Until it is restored' s lower "$what" "$(as_seconds "$restored")"
        printf '%s\t%s\t%s\n' "$what" "$tpmc" "$took" >>"$WORK/methods"
    fi
    found_bar 'Throughput meanwhile' tpmC higher "$what" "$tpmc"
    found_row "$what" "$published" "$tpmc tpmC ($((tpmc * 100 / BACKUP_ALONE)) %)" "$note"
}

backup_points() {
    local value n=0 by="the article's means"
    # A chart draws six lines.
    [[ $1 != penstock* ]] || by=penstock
    while read -r value; do
        n=$((n + 1))
        found_point "Throughput, windows of $WINDOW s, with $by" tpmC "$1" $((n * WINDOW)) "${value%.*}"
    done
}

# The restored server: its rows satisfy the specification's conditions.
backup_proof() {
    penstock bench tpcc check --quiet --socket "$RESTORED_SOCKET" --user root >"$WORK/out" 2>&1 || { cat "$WORK/out" >&2; die "$1: the restored rows are not of one moment"; }
    testkit server down --dir "$PLACE/restored" >/dev/null
    rm -rf "$PLACE/restored"
}

backup_share() { awk -F '\t' -v w="$1" -v a="$BACKUP_ALONE" '$1 == w { printf "%d %%", $2 * 100 / a }' "$WORK/methods"; }
backup_taken() { awk -F '\t' -v w="$1" '$1 == w { printf "%.1f s", $3 / 1e6 }' "$WORK/methods"; }

# ---------------------------------------------------------------- backups

there() { "${SSH[@]}" "$SSH_USER@$SSH_HOST" "$@"; }
THERE() { printf 'ssh://%s@%s:%s%s/host2/%s' "$SSH_USER" "$SSH_HOST" "$SSH_PORT" "$WORK" "$1"; }

backup_nothing() { :; }

backup_by_mysqldump() {
    "${DUMP[@]}" --socket="$SOURCE_SOCKET" --databases tpcc 2>"$WORK/out" | gzip -1 | there "cat >$WORK/host2/dump.sql.gz"
}

# As the article did, with a clone of the files in place of a snapshot of the volume: the lock, the snapshot, no lock, tar over ssh.
backup_by_tar() {
    rm -rf "$PLACE/cloned"
    # The session holds the lock until the clone is there.
    local answer to locker
    coproc LOCKER { "${CLIENT[@]}" --no-defaults --user=root --socket="$SOURCE_SOCKET" --batch --skip-column-names --unbuffered 2>"$WORK/out"; }
    printf 'FLUSH TABLES WITH READ LOCK;\nSELECT 1;\n' >&"${LOCKER[1]}"
    read -r answer <&"${LOCKER[0]}" || return 1
    cp -a --reflink=always "$PLACE/source/data" "$PLACE/cloned" 2>"$WORK/out" || return 1
    printf 'UNLOCK TABLES;\n' >&"${LOCKER[1]}"
    to=${LOCKER[1]} locker=$LOCKER_PID
    exec {to}>&-
    wait "$locker" || true
    [[ -d $PLACE/cloned ]] || return 1
    tar -C "$PLACE/cloned" -cf - . | gzip -1 | there "cat >$WORK/host2/files.tar.gz" || return 1
    rm -rf "$PLACE/cloned"
}

backup_of_replica() {
    backup_applier STOP
    "${DUMP[@]}" --socket="$REPLICA_SOCKET" --databases tpcc 2>"$WORK/out" | gzip -1 | there "cat >$WORK/host2/dump.sql.gz" || return 1
    backup_applier START
}
backup_applier() {
    local word=REPLICA
    [[ $FLAVOUR == mysql ]] || word=SLAVE
    testkit sql --socket "$REPLICA_SOCKET" "$1 $word SQL_THREAD" >"$WORK/out"
}

backup_by_penstock() { penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas tpcc --to "$(THERE archive)" "$@" >"$WORK/out" 2>&1; }
backup_within() { backup_by_penstock --max-impact 5%; }
backup_of_replica_by_penstock() { penstock dump --quiet --socket "$REPLICA_SOCKET" --user root --schemas tpcc --to "$(THERE archive)" >"$WORK/out" 2>&1; }

backup_by_snapshot() { penstock snapshot take --quiet --method "$SNAPSHOTS" --socket "$SOURCE_SOCKET" --user root --to "$(THERE snapshot)" >"$WORK/out" 2>&1; }

# The snapshot stays where it was made until its rows are in the archive.
backup_from_files() {
    local made id
    penstock snapshot take --quiet --json --method "$SNAPSHOTS" --socket "$SOURCE_SOCKET" --user root --keep >"$WORK/out" 2>"$WORK/said" || { cp "$WORK/said" "$WORK/out"; return 1; }
    made=$(jq -r 'select(.kept) | .kept' "$WORK/out" | tail -n 1)
    id=$(jq -r 'select(.id) | .id' "$WORK/out" | tail -n 1)
    [[ -n $made ]] || return 1
    [[ ! -d $made/data ]] || made=$made/data
    penstock dump --quiet --from-files "$made" --recover --scratch "$PLACE" --mysqld "$(testkit program "$FLAVOUR" "$WORK/program")" --schemas tpcc --to "$(THERE archive)" >"$WORK/out" 2>&1 || return 1
    penstock snapshot clean "$id" --quiet >"$WORK/out" 2>&1
}

# ---------------------------------------------------------------- restores

# An empty server, for what is loaded.
backup_new_server() {
    local socket='' pid=0 args
    mapfile -t args < <(backup_memory)
    read_values < <(testkit server up "$FLAVOUR" --dir "$PLACE/restored" -- "${args[@]}" --server-id=9 "$@")
    ((pid)) || return 1
    RESTORED_SOCKET=$socket
}

backup_load_sql() {
    backup_new_server --skip-log-bin || return 1
    there "cat $WORK/host2/dump.sql.gz" | gzip -d | "${CLIENT[@]}" --no-defaults --user=root --socket="$RESTORED_SOCKET" 2>"$WORK/out"
}

backup_load() {
    backup_new_server --skip-log-bin || return 1
    penstock load "$(THERE archive)" --quiet --socket "$RESTORED_SOCKET" --user root >"$WORK/out" 2>&1
}

backup_untar() {
    mkdir -p "$PLACE/restored/data"
    there "cat $WORK/host2/files.tar.gz" | tar -C "$PLACE/restored/data" -xzf - || return 1
    backup_over_files
}

backup_restore_files() {
    mkdir -p "$PLACE/restored"
    penstock snapshot restore "$(THERE snapshot)" --quiet --datadir "$PLACE/restored/data" --mysqld "$(testkit program "$FLAVOUR" "$WORK/program")" >"$WORK/out" 2>&1 || return 1
    backup_over_files
}

# A server on files that are there: called as the source was.
backup_over_files() {
    local command environment pid n
    mapfile -d '' -t command <"/proc/$SOURCE_PID/cmdline"
    mapfile -d '' -t environment <"/proc/$SOURCE_PID/environ"
    command=("${command[@]//$PLACE\/source/$PLACE/restored}")
    command=("${command[@]/--server-id=1/--server-id=9}" --skip-networking)
    rm -f "$PLACE/restored/data/auto.cnf"
    mkdir -p "$PLACE/restored/tmp"
    (cd "$PLACE/restored" && exec setsid env -i "${environment[@]}" "${command[@]}" >>"$PLACE/restored/log" 2>&1 </dev/null) &
    pid=$!
    disown "$pid"
    sed "s#$PLACE/source#$PLACE/restored#g; s/^pid=.*/pid=$pid/" "$PLACE/source/state" >"$PLACE/restored/state"
    RESTORED_SOCKET=${SOURCE_SOCKET/source/restored}
    for ((n = 0; n < 1200; n++)); do
        testkit sql --socket "$RESTORED_SOCKET" 'SELECT 1' >"$WORK/out" 2>&1 && return 0
        [[ -e /proc/$pid ]] || { tail -n 5 "$PLACE/restored/log" >"$WORK/out"; return 1; }
        sleep 0.1
    done
    return 1
}

# ---------------------------------------------------------------- a week in small

# A full backup, the binary log as it is written, a table that is dropped, and the second before.
backup_week() {
    local repository before begin took archiver code=0
    say 'a week in small: a full backup, the binary log all the while, a dropped table'
    rm -rf "$WORK/host2"
    mkdir "$WORK/host2"
    repository=$(THERE repository)
    penstock init "$repository" --quiet >"$WORK/out" 2>&1 || die "the repository could not be made: $(tail -n 5 "$WORK/out")"
    penstock backup week --repository "$repository" --quiet --socket "$SOURCE_SOCKET" --user root >"$WORK/out" 2>&1 || die "the full backup failed: $(tail -n 5 "$WORK/out")"
    penstock binlog archive week --repository "$repository" --quiet --socket "$SOURCE_SOCKET" --user root --max-age 1s >"$WORK/archiver" 2>&1 &
    archiver=$!
    BACKGROUND+=("$archiver")
    penstock bench tpcc run --quiet --socket "$SOURCE_SOCKET" --user root -c "$CONNECTIONS" --ramp 0s --measure "$((WINDOW * 2))s" >"$WORK/window.out" 2>&1
    before=$(testkit sql --socket "$SOURCE_SOCKET" 'SELECT COUNT(*) FROM tpcc.history')
    sleep 2
    at=$(date -u '+%F %T+00:00')
    sleep 2
    testkit sql --socket "$SOURCE_SOCKET" 'DROP TABLE tpcc.history' >"$WORK/out"
    # The archiver has the log of all the backup before to send through the link.
    local waited=0
    until penstock restore latest --server-name week --repository "$repository" --quiet --datadir "$WORK/none" --to-time "$at" --dry-run >"$WORK/out" 2>&1; do
        [[ -e /proc/$archiver ]] || die "the archiver ended: $(tail -n 3 "$WORK/archiver")"
        ((waited++ < 300)) || die "the log does not reach the archive: $(tail -n 3 "$WORK/out")"
        sleep 1
    done
    kill -INT "$archiver"
    wait "$archiver" || true
    backup_new_server --log-bin=binlog $([[ $FLAVOUR == mariadb ]] || echo --gtid-mode=ON --enforce-gtid-consistency=ON) || die 'no server to restore into'
    begin=$(now)
    penstock restore latest --server-name week --repository "$repository" --quiet --socket "$RESTORED_SOCKET" --user root --to-time "$at" >"$WORK/out" 2>&1 || code=$?
    took=$(($(now) - begin))
    ((code == 0 || code == 3)) || { cat "$WORK/out" >&2; die "the restore ended with code $code"; }
    local after
    after=$(testkit sql --socket "$RESTORED_SOCKET" 'SELECT COUNT(*) FROM tpcc.history')
    [[ $after == "$before" ]] || die "the table has $after rows, and had $before"
    found_row 'a dropped table, back as it was the second before' 'by hand' "$(as_seconds "$took") s" "$(as_count "$before") rows: the full backup, and the binary log that was archived as it was written"
    backup_proof 'the week'
}
