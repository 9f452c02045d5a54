# ./dev bench restore: restores side by side: SQL import with each level of tuning, one big .sql file, a table with five
# keys, and tablespace import.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_restore() {
    local flavour=mysql warehouses=10 runs=3 millions=1 only='archive script keys tablespace' all part kind
    all=$only
    options restore 'flavour warehouses runs millions only' "$@"
    only=${only//,/ }
    for part in $only; do
        [[ " $all " == *" $part "* ]] || die "--only $part: ${all// /, }, or several of them"
    done
    bench_source "$warehouses" tpcc
    record fact 'server as installed' 'a new server with 2 GiB of buffer pool and of redo log, binary log and doublewrite at their defaults, flush_log_at_trx_commit=1'
    record fact 'five keys' "$millions million rows"
    say "a table with five keys, and the dumps"
    fill_five_keys "$millions" >"$WORK/out"
    local login=(--user root --socket "$SOURCE_SOCKET" --threads 2)
    penstock dump "${login[@]}" --schemas "$schema" --to "$WORK/dump-zstd" -q >"$WORK/out"
    penstock dump "${login[@]}" --schemas five_keys --chunk-size 8M --to "$WORK/dump-five" -q >"$WORK/out"
    [[ " $only " != *' script '* ]] || "${STOCK_DUMP[@]}" --databases "$schema" >"$WORK/dump.sql"
    [[ " $only " != *' keys '* ]] || "${STOCK_DUMP[@]}" --databases five_keys >"$WORK/five.sql"
    if [[ -n $MYDUMPER ]]; then
        "$MYDUMPER" "${login[@]}" --database "$schema" --outputdir "$WORK/dump-mydumper" >"$WORK/out" 2>&1
        "$MYDUMPER" "${login[@]}" --database five_keys --outputdir "$WORK/five-mydumper" >"$WORK/out" 2>&1
    fi
    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        for part in $only; do "restore_$part"; done
    done
    server_down target
    for part in $only; do "restore_${part}_goals"; done

    kind=$FLAVOUR-tpcc
    [[ $only == "$all" ]] || kind+=-${only// /-}
    ((warehouses == 10)) || kind+=-w$warehouses
    ((millions == 1)) || kind+=-m$millions
    keep_report restore "$kind"
}

# That many million rows in key order with five secondary keys over random values.
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

# ---------------------------------------------------------------- targets

# An empty server as installed, but for memory: nothing is switched off for the restore.
installed_target() {
    [[ -z ${TARGET_UP:-} ]] || server_down target
    local args
    mapfile -t args < <(roomy "$FLAVOUR" "$MEMORY")
    server target "$FLAVOUR" --server-id=2 "${args[@]}" --innodb-flush-log-at-trx-commit=1 "$@"
    TARGET_UP=1
}

# The same, with a script that stops and starts it, for --server-command.
stoppable_target() {
    installed_target "$@"
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

# ---------------------------------------------------------------- SQL import

restore_archive() {
    local group='SQL import of an archive' level
    record bytes "$group" "$bytes"
    for level in off safe max; do
        installed_target
        load_run "$group" "penstock --tune=$level --verify none" "$schema" \
            penstock load "$WORK/dump-zstd" "${TO_TARGET[@]}" --import-mode sql --tune "$level" --verify none
    done
    installed_target
    load_run "$group" 'penstock --tune=max' "$schema" \
        penstock load "$WORK/dump-zstd" "${TO_TARGET[@]}" --import-mode sql --tune max
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        best_target
        load_run "$group" 'myloader, best settings' "$schema" "$MYLOADER" "${TO_TARGET[@]}" --directory "$WORK/dump-mydumper"
    fi
}

restore_archive_goals() {
    local group='SQL import of an archive'
    record goal "$group" 'penstock --tune=max --verify none' 0.625 'myloader, best settings'
    record goal "$group" 'penstock --tune=max' 1.15 'penstock --tune=max --verify none'
}

restore_script() {
    local group='import of one .sql file'
    record bytes "$group" "$bytes"
    fed_from "$WORK/dump.sql" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
    installed_target
    load_run "$group" "${CLIENT[-1]##*/} <" "$schema" "${FED_FROM[@]}"
    best_target
    load_run "$group" "${CLIENT[-1]##*/} <, best settings" "$schema" "${FED_FROM[@]}"
    installed_target
    load_run "$group" 'penstock --tune=off' "$schema" penstock load "$WORK/dump.sql" "${TO_TARGET[@]}" --tune off
    best_target
    load_run "$group" 'penstock, best settings' "$schema" penstock load "$WORK/dump.sql" "${TO_TARGET[@]}"
}

restore_script_goals() {
    local group='import of one .sql file' client="${CLIENT[-1]##*/} <"
    record goal "$group" 'penstock, best settings' 0.333 "$client, best settings"
    record goal "$group" 'penstock --tune=off' 0.5 "$client"
}

restore_keys() {
    local group='five keys, SQL import, best settings' n
    fed_from "$WORK/five.sql" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
    best_target
    load_run "$group" "${CLIENT[-1]##*/} <" five_keys "${FED_FROM[@]}"
    best_target
    load_run "$group" 'penstock --defer-indexes off, 1 worker' five_keys \
        penstock load "$WORK/dump-five" "${TARGET_AT[@]}" --threads 1 --import-mode sql --defer-indexes off --verify none
    for n in 1 2; do
        best_target
        load_run "$group" "penstock, $n worker$( ((n == 1)) || echo s)" five_keys \
            penstock load "$WORK/dump-five" "${TARGET_AT[@]}" --threads "$n" --import-mode sql --verify none
    done
}

restore_keys_goals() {
    record goal 'five keys, SQL import, best settings' 'penstock, 2 workers' 0.588 'penstock --defer-indexes off, 1 worker'
}

# ---------------------------------------------------------------- tablespace import

# Whole restores by tablespace import, their verification included, against the best ways through SQL, and against a copy
# of the same files.
restore_tablespace() {
    if ((RUN == 1)); then
        stock_files "$schema" "$WORK/tab"
        stock_files five_keys "$WORK/tab-five"
        # Two files of one table, so that both threads have something to load; no value has a line break in it.
        split --number=l/2 --additional-suffix=.txt "$WORK/tab-five/t.txt" "$WORK/tab-five/t."
        rm "$WORK/tab-five/t.txt"
    fi
    record bytes 'tablespace import' "$bytes"
    import_each_way 'tablespace import' "$schema" "$WORK/dump-zstd" "$WORK/dump-mydumper" "$WORK/tab"
    import_each_way 'five keys, tablespace import' five_keys "$WORK/dump-five" "$WORK/five-mydumper" "$WORK/tab-five"
}

# stock_files SCHEMA DIR: DIR.sql with definitions, and a file of rows for each table in DIR, which the server writes.
stock_files() {
    "${STOCK_DUMP[@]}" --no-data --databases "$1" >"$2.sql"
    mkdir -p "$2"
    "${STOCK_DUMP[@]}" --tab="$2" "$1"
}

# import_each_way GROUP SCHEMA ARCHIVE MYDUMPER_DIR TAB_DIR
import_each_way() {
    local group=$1 from=$2 archive=$3 mydumper=$4 tab=$5
    best_target
    load_run "$group" 'penstock --import-mode sql, best settings' "$from" penstock load "$archive" "${TO_TARGET[@]}" --import-mode sql
    if [[ -n $MYDUMPER && -n $MYLOADER ]]; then
        best_target
        load_run "$group" 'myloader, best settings' "$from" "$MYLOADER" "${TO_TARGET[@]}" --directory "$mydumper"
    fi
    best_target
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$tab.sql"
    load_run "$group" "${IMPORT[-1]##*/} --use-threads=2" "$from" \
        "${IMPORT[@]}" "${TARGET_LOGIN[@]}" --use-threads=2 "$from" "$tab"/*.txt
    installed_target --skip-log-bin
    load_run "$group" 'penstock --import-mode tablespace' "$from" penstock load "$archive" "${TO_TARGET[@]}" --import-mode tablespace
    copy_files "$group" "$from"
    stoppable_target --skip-log-bin
    load_run "$group" 'penstock --import-mode offline' "$from" \
        penstock load "$archive" "${TO_TARGET[@]}" --import-mode offline --server-command "sh $WORK/target.sh"
    into_datadir "$group" "$archive"
}

# into_datadir GROUP ARCHIVE: into a new data directory, from nothing to a server that is shut down.
into_datadir() {
    local group=$1 archive=$2 program took
    program=$(testkit program "$FLAVOUR" "$WORK/server-program")
    rm -rf "$WORK/datadir"
    measure "$group" 'penstock --datadir' "$TARGET_PID" \
        penstock load "$archive" --datadir "$WORK/datadir" --mysqld "$program" --threads 2
    # The summary's line about the data directory ends with the time that initializing it took.
    took=$(sed -nE 's/^ *data (directory|folder) .* in ([0-9].*)$/\2/p' "$WORK/out")
    record fact "$group, --datadir" "initializing the data directory and the server's first start took ${took:-?}"
    rm -rf "$WORK/datadir"
}

# copy_files GROUP SCHEMA: the target's files of a schema, copied and synced: no restore can take less.
copy_files() {
    local group=$1 from
    from="$(testkit sql --socket "$TARGET_SOCKET" 'SELECT @@datadir')/$2"
    rm -rf "$WORK/copied"
    record fact "$group, files" "$(du -sm --apparent-size "$from" | cut -f1) MiB"
    # shellcheck disable=SC2016 # variables of the inner shell
    measure "$group" 'limit: cp of the files, and sync' "$TARGET_PID" sh -c 'cp -r "$1" "$2" && sync -f "$2"' _ "$from" "$WORK/copied"
    rm -rf "$WORK/copied"
}

restore_tablespace_goals() {
    local group='tablespace import' keys='five keys, tablespace import' import="${IMPORT[-1]##*/} --use-threads=2"
    local most=0.333 other mode
    [[ $FLAVOUR == mysql ]] || most=0.167
    for other in 'penstock --import-mode sql, best settings' 'myloader, best settings' "$import"; do
        record goal "$group" 'penstock --import-mode tablespace' "$most" "$other"
        record goal "$group" 'penstock --import-mode offline' 0.167 "$other"
        record goal "$group" 'penstock --datadir' 0.167 "$other"
        for mode in '--import-mode tablespace' '--import-mode offline' --datadir; do
            record goal "$keys" "penstock $mode" 0.1 "$other"
        done
    done
    record goal "$group" 'penstock --import-mode offline' 2 'limit: cp of the files, and sync'
    record goal "$group" 'penstock --datadir' 2 'limit: cp of the files, and sync'
    # Later ones, with the comparison from files.
    record goal "$group" 'penstock --import-mode offline' 0.333 "$import"
    record goal "$group" 'penstock --import-mode offline' 1.6 'limit: cp of the files, and sync'
    record goal "$keys" 'penstock --import-mode offline' 0.111 "$import"
}
