# ./dev article restore: the ladder of an article that restored one SQL file of 6.6 GB: as it comes, with a tuned server, from CSV, in
# parallel, after a day of tuning; then penstock on the same SQL file, on the same CSV files, and on its own archive in each mode.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev, of bench/shared.sh and of bench/restore/run.sh

article_restore() {
    local thousands=$((SCALE * 1000)) args
    ((SCALE > 0)) || thousands=4
    found_title 'Restore: one large table, from two hours down'
    article_servers
    need zstd:zstd
    # shellcheck source=bench/restore/run.sh
    source bench/restore/run.sh
    export PENSTOCK_STATE="$WORK/state"
    MEMORY=2G TARGET_UP='' TARGET_AT=(--socket "$WORK/target/sock" --user root) TO_TARGET=(--socket "$WORK/target/sock" --user root --threads 2)
    SOURCE_LOGIN=(--no-defaults --user=root) TARGET_LOGIN=(--no-defaults --user=root --socket="$WORK/target/sock")
    mapfile -t args < <(roomy "$FLAVOUR" 2G)
    server source "$FLAVOUR" "${args[@]}" --secure-file-priv= --skip-log-bin
    SOURCE_LOGIN+=(--socket="$SOURCE_SOCKET")
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    mapfile -t DUMP < <(testkit client "$FLAVOUR" dump)
    STOCK_DUMP=("${DUMP[@]}" "${SOURCE_LOGIN[@]}" --single-transaction)
    [[ $FLAVOUR == mariadb ]] || STOCK_DUMP+=(--set-gtid-purged=OFF)
    restore_data "$thousands"
    say 'the SQL file, CSV files, and an archive'
    "${STOCK_DUMP[@]}" --databases wiki >"$WORK/wiki.sql"
    stock_files wiki "$WORK/tab"
    # For tools that read definitions and rows in one directory.
    mkdir "$WORK/csv"
    "${STOCK_DUMP[@]}" --tab="$WORK/csv" wiki
    penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --threads 2 --schemas wiki --no-users --to "$WORK/archive" >"$WORK/out"
    found_setting 'data' "$((thousands))000 rows of wide text with three keys, $(($(stat -c %s "$WORK/wiki.sql") / 1000000)) MB of SQL; the article's file had 6.6 GB"
    found_setting 'threads' '2 wherever there is a choice'

    # As it comes: memory and durability of a new installation, and its binary log.
    server target "$FLAVOUR" --server-id=2
    TARGET_UP=1
    restore_stock 'SQL file, server as it comes' '129m51s' "$WORK/wiki.sql"
    installed_target
    restore_stock 'SQL file, memory and redo log for it' '59m34s' "$WORK/wiki.sql"
    best_target
    restore_stock 'SQL file, no log and no sync besides' '33m' "$WORK/wiki.sql"
    best_target
    restore_csv 'CSV, one file' '21m56s (on SSD)' 1
    best_target
    restore_csv 'CSV, in parallel chunks' '15m38s (on SSD)' 2
    best_target
    restore_keys_last 'CSV, in parallel, keys last' '9m42s (on SSD, after a day of tuning)'

    installed_target
    restore_penstock 'penstock, the SQL file' penstock load "$WORK/wiki.sql" "${TO_TARGET[@]}"
    installed_target
    restore_penstock 'penstock, the CSV files' penstock load "$WORK/csv" --schema wiki "${TO_TARGET[@]}"
    installed_target
    restore_penstock 'penstock, its archive by SQL' penstock load "$WORK/archive" "${TO_TARGET[@]}" --import-mode sql
    installed_target
    restore_penstock 'penstock, its archive by SQL, --tune=max' penstock load "$WORK/archive" "${TO_TARGET[@]}" --import-mode sql --tune max
    installed_target
    # What is imported so is in no binary log.
    restore_penstock 'penstock, its archive as tablespaces' penstock load "$WORK/archive" "${TO_TARGET[@]}" --import-mode tablespace --skip-binlog
    grep -q '^ *as tablespaces ' "$WORK/out" || die 'the table was not imported as a tablespace' "see $WORK/out"
    stoppable_target
    restore_penstock 'penstock, its archive into a stopped server' penstock load "$WORK/archive" "${TO_TARGET[@]}" --import-mode offline --server-command "sh $WORK/target.sh" --skip-binlog
    grep -q '^ *as tablespaces ' "$WORK/out" || die 'the table was not imported as a tablespace' "see $WORK/out"
    server_down target
    server_down source

    found_sentence 'The article restored one SQL file in 129 minutes with a server as it comes, and in under ten after a day of tuning, splitting and loading by hand, with settings that would have lost data in a crash.'
    found_sentence "Here the same ladder goes from $(restore_time 'SQL file, server as it comes') to $(restore_time 'CSV, in parallel, keys last'); penstock takes $(restore_time 'penstock, the SQL file') for the same SQL file and $(restore_time 'penstock, its archive as tablespaces') for its own archive, on a server whose settings are those of an installation, and each time it compares every row."
    found_sentence "After each of its loads the server's global settings were what they were before."
}

# The rows: text as wide as an encyclopedia's, and keys in no order.
restore_data() {
    local n
    say "filling a table of $1,000 rows"
    "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" <<'SQL'
CREATE DATABASE wiki; USE wiki;
CREATE TABLE n (i INT PRIMARY KEY); INSERT INTO n VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);
CREATE TABLE page (id INT UNSIGNED NOT NULL PRIMARY KEY, title VARCHAR(80) NOT NULL, author INT NOT NULL, changed DATETIME NOT NULL, body TEXT NOT NULL,
  KEY title (title), KEY author (author, changed), KEY changed (changed)) ENGINE=InnoDB;
SQL
    for ((n = 0; n < $1; n++)); do
        printf '%s\n' "INSERT INTO page SELECT n, CONCAT(LEFT(SHA2(n, 256), 32), ' ', n), RAND(n) * 1e5, DATE_ADD('2005-01-01', INTERVAL FLOOR(RAND(n + 1) * 2e8) SECOND),
            CONCAT_WS(' ', SHA2(n, 512), SHA2(n + 1, 512), SHA2(n + 2, 512), SHA2(n + 3, 512), REPEAT('and so on ', 20))
            FROM (SELECT $n * 1000 + a.i + 10 * b.i + 100 * c.i AS n FROM n a, n b, n c) q;"
    done | "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" wiki
    "${CLIENT[@]}" "${SOURCE_LOGIN[@]}" wiki -e 'DROP TABLE n; ANALYZE TABLE page' >"$WORK/out"
}

# restore_timed WHAT PUBLISHED BOUND COMMAND…: a restore that others do; the copy is compared outside of the time.
restore_timed() {
    local what=$1 published=$2 begin took
    shift 2
    settle
    begin=$(now)
    "$@" >"$WORK/out" 2>&1 </dev/null || { tail -n 15 "$WORK/out" >&2; die "$what: failed"; }
    took=$(($(now) - begin))
    testkit checksum --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --schema wiki >"$WORK/same" 2>&1 || { cat "$WORK/same" >&2; die "$what: the copy differs"; }
    printf '%s\t%s\n' "$what" "$took" >>"$WORK/times"
    # What penstock says it waited for.
    local said
    said=$(sed -n 's/^ *bottleneck  *//p' "$WORK/out" | head -n 1)
    found_bar 'Until the rows are there' s lower "$what" "$(as_seconds "$took")"
    found_row "$what" "$published" "$(as_seconds "$took") s" "${said:+$said; }$BOUND"
}

restore_stock() {
    BOUND='one connection, one statement after the other'
    fed_from "$3" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
    restore_timed "$1" "$2" "${FED_FROM[@]}"
}

# CSV files of the one table, in so many parts.
restore_csv() {
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$WORK/tab.sql"
    restore_parts "$3"
    BOUND="$3 connection$( (($3 == 1)) || echo s), every key kept while rows come"
    restore_timed "$1" "$2" restore_load_parts
}

# In order of the primary key, cut at line breaks; no value has one in it.
restore_parts() {
    rm -rf "$WORK/parts"
    mkdir "$WORK/parts"
    split --number="l/$1" --numeric-suffixes=1 --additional-suffix=.txt "$WORK/tab/page.txt" "$WORK/parts/page."
}

restore_load_parts() {
    local part pids=() pid
    for part in "$WORK"/parts/*.txt; do
        "${CLIENT[@]}" "${TARGET_LOGIN[@]}" --local-infile=1 wiki -e "SET unique_checks = 0; SET foreign_key_checks = 0; LOAD DATA LOCAL INFILE '$part' INTO TABLE page" &
        pids+=("$!")
    done
    for pid in "${pids[@]}"; do wait "$pid" || return 1; done
}

restore_keys_last() {
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" <"$WORK/tab.sql"
    restore_parts 2
    BOUND='2 connections for the rows, then one statement that sorts for all keys'
    restore_timed "$1" "$2" restore_load_then_index
}

restore_load_then_index() {
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" wiki -e 'ALTER TABLE page DROP KEY title, DROP KEY author, DROP KEY changed' || return 1
    restore_load_parts || return 1
    "${CLIENT[@]}" "${TARGET_LOGIN[@]}" wiki -e 'ALTER TABLE page ADD KEY title (title), ADD KEY author (author, changed), ADD KEY changed (changed)'
}

# restore_penstock WHAT COMMAND…: what it was bound by is what it says itself; settings before and after are compared.
restore_penstock() {
    local what=$1 before
    shift
    before=$(restore_settings)
    BOUND='every row compared'
    restore_timed "$what" '-' "$@"
    [[ $(restore_settings) == "$before" ]] || die "$what: the server's settings are not what they were" "diff of SHOW GLOBAL VARIABLES"
}

# Without what counts or names a moment.
restore_settings() { testkit sql --socket "$TARGET_SOCKET" 'SHOW GLOBAL VARIABLES' | grep -vE '^(gtid_|timestamp|server_uuid|pseudo_|innodb_redo_log_enabled|log_bin_index|last_insert_id|rand_seed)'; }

restore_time() { awk -F '\t' -v w="$1" '$1 == w { printf "%d.%02d s", $2 / 1000000, $2 % 1000000 / 10000 }' "$WORK/times"; }
