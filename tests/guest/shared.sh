# shellcheck shell=bash
# What the guests of ./dev test-lvm and ./dev test-zfs share: a MariaDB server that is written to, and everything of one
# method on one volume.
#
# A guest's first program sources this. It defines:
#   made             names of the snapshots of penstock, one a line
#   volumes          what there is, for people
#   data_place FS    makes a new file system on the volume of the test, and mounts it at /srv/db
#
# The guest has /payload (the program, read-only) and one empty disk, /dev/vdc. Everything that is said goes to the
# serial line; the last line is "PASSED" or "FAILED".
set -uo pipefail
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root
# What the initial ram disk has mounted stays.
mounted() { mountpoint -q "${@: -1}" || mount "$@"; }
mounted -t proc proc /proc
mounted -t sysfs sysfs /sys
mounted -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mounted -t devpts devpts /dev/pts
mounted -t tmpfs tmpfs /run
mounted -t tmpfs tmpfs /dev/shm
exec </dev/null >/dev/ttyS0 2>&1
mkdir -p /run/lock /srv/db /srv/try
ip link set lo up
hostname guest
echo "127.0.0.1 localhost guest" >/etc/hosts

end() {
    echo "$1"
    sync
    sleep 1
    echo o >/proc/sysrq-trigger
    sleep 60
}
fail() {
    echo "FAILED at: $*"
    tail -n 20 /srv/try/server.log /srv/try/restored.log 2>/dev/null
    volumes 2>&1
    end FAILED
}
say() { printf '\n== %s\n' "$*"; }
# Shows a command as a person would type it, and runs it.
typed() {
    echo "\$ $*"
    "$@" 2>&1
}
penstock() { /payload/penstock "$@"; }
sql() { mariadb -N -uroot --socket=/srv/try/sock -e "$1"; }
restored() { mariadb -N -uroot --socket=/srv/try/sock2 -e "$1"; }

# until WHAT COMMAND…: a state that has to come.
until_so() {
    local what=$1 n=0
    shift
    until "$@" >/dev/null 2>&1; do
        n=$((n + 1))
        ((n < 600)) || fail "$what"
        sleep 0.5
    done
}

# No snapshot, no mount of one, no record.
nothing_left() {
    made | grep . && fail "a snapshot is left: $1"
    grep penstock- /proc/mounts && fail "a snapshot is mounted: $1"
    penstock snapshot list --json -q | grep -q '"snapshots":\[\]' || fail "a record is left: $1"
}

# Begins to speak, and loads these modules.
begin_guest() {
    say 'The guest'
    uname -sr
    /lib/systemd/systemd-udevd --daemon
    udevadm trigger && udevadm settle
    for module in "$@"; do modprobe "$module" || fail "modprobe $module"; done
    mariadbd --version
    penstock --version
    export PENSTOCK_STATE=/srv/try/state
}

pids=()

# A server on the volume, with tables and writers.
begin() {
    mkdir -p /srv/db/data
    mariadb-install-db --no-defaults --force --skip-name-resolve --user=root --datadir=/srv/db/data --auth-root-authentication-method=normal >/srv/try/install.log 2>&1 ||
        { cat /srv/try/install.log; fail mariadb-install-db; }
    mariadbd --no-defaults --user=root --datadir=/srv/db/data --socket=/srv/try/sock --port=3306 --bind-address=127.0.0.1 \
        --server-id=1 --log-bin=binlog --innodb-buffer-pool-size=64M --innodb-log-file-size=32M >/srv/try/server.log 2>&1 &
    server=$!
    until_so 'the server answers' sql 'SELECT 1'
    sql "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'Repl-1-word'; GRANT REPLICATION SLAVE ON *.* TO repl@'127.0.0.1';
        CREATE USER repl@localhost IDENTIFIED BY 'Repl-1-word'; GRANT REPLICATION SLAVE ON *.* TO repl@localhost;
        CREATE DATABASE shop; USE shop; CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT, v VARCHAR(600), KEY (n));
        CREATE TABLE account (id INT PRIMARY KEY, amount BIGINT NOT NULL); INSERT INTO account SELECT seq, 1000 FROM seq_0_to_5;
        CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT) ENGINE=MyISAM;
        CREATE TABLE done (n INT) ENGINE=InnoDB; CREATE TABLE stop (n INT);" || fail tables
    mariadb -uroot --socket=/srv/try/sock shop <<'SQL' || fail procedure
DELIMITER //
CREATE PROCEDURE work(k INT) BEGIN
  DECLARE i INT DEFAULT k;
  REPEAT
    START TRANSACTION;
    INSERT INTO t (n, v) SELECT FLOOR(RAND() * 1000), REPEAT(SHA2(RAND(), 512), 4) FROM seq_1_to_20;
    UPDATE account SET amount = amount - i % 9 WHERE id = LEAST(i % 6, (i * 7 + k) % 6);
    UPDATE account SET amount = amount + i % 9 WHERE id = GREATEST(i % 6, (i * 7 + k) % 6);
    INSERT INTO done VALUES (k);
    COMMIT;
    INSERT INTO w (v) VALUES (REPEAT('w', 300));
    SET i = i + 1;
  UNTIL EXISTS (SELECT 1 FROM stop) END REPEAT;
END //
SQL
    pids=()
    for k in 1 2 3; do
        mariadb -uroot --socket=/srv/try/sock shop -e "SET SESSION binlog_format=ROW; CALL work($k)" >>/srv/try/writers.log 2>&1 &
        pids+=($!)
    done
    moved
}
# Some transactions more were committed.
moved() {
    local before
    before=$(sql 'SELECT COUNT(*) FROM shop.done')
    until_so 'writes' more "$before"
}
more() { (($(sql 'SELECT COUNT(*) FROM shop.done') > $1 + 50)); }
writers_end() {
    sql 'INSERT INTO shop.stop VALUES (1)'
    wait "${pids[@]}" || fail 'a writer failed while a snapshot was taken'
    pids=()
}
writers_begin() {
    sql 'DELETE FROM shop.stop'
    for k in 1 2 3; do
        mariadb -uroot --socket=/srv/try/sock shop -e "SET SESSION binlog_format=ROW; CALL work($k)" >>/srv/try/writers.log 2>&1 &
        pids+=($!)
    done
}
end_server() {
    kill "$server" && wait "$server"
    umount /srv/db || fail 'the volume cannot be unmounted: something of a snapshot holds it'
}

# A server on the files in /srv/try/back.
begin_copy() {
    mariadbd --no-defaults --user=root --datadir=/srv/try/back --socket=/srv/try/sock2 --skip-networking --server-id=2 \
        --skip-slave-start --innodb-buffer-pool-size=64M >/srv/try/restored.log 2>&1 &
    copy=$!
    until_so 'the restored server answers' restored 'SELECT 1'
}
# It follows the source from a place (CHANGE MASTER …), and ends equal.
catches_up() {
    local sums='CHECKSUM TABLE shop.t, shop.account, shop.w, shop.done'
    [[ $(restored 'SELECT SUM(amount) FROM shop.account') == 6000 ]] || fail 'the snapshot is not of one moment'
    restored "$1, MASTER_USER='repl', MASTER_PASSWORD='Repl-1-word', MASTER_USE_GTID=no; START SLAVE" || fail replication
    until_so 'the copy is equal to its source' equal "$sums"
    echo "replayed from there, the copy is equal to its source: $(restored 'SELECT COUNT(*) FROM shop.t') rows"
    kill "$copy" && wait "$copy"
    rm -rf /srv/try/back
}
# A server on restored files follows the source from the printed place, and ends equal.
follows() {
    local place
    place=$(sed -n 's/.*"replica_by_position":\["\([^"]*\)".*/\1/p' "$1" | sed "s/MASTER_HOST='[^']*'/MASTER_HOST='127.0.0.1'/")
    [[ $place == CHANGE* ]] || { cat "$1"; fail 'the restore prints no place'; }
    echo "$place"
    begin_copy
    [[ -z ${2:-} ]] || typed penstock verify "$2" --against 'mysql://root@localhost/?socket=/srv/try/sock2' -q || fail 'the dump from the snapshot differs'
    catches_up "$place"
}
# A dump of a snapshot by one command, loaded into a new server, which follows the source from the dump's place.
dumped_at_once() {
    local method=$1 file at place step
    say "--method $method on $2: dumped by one command"
    writers_begin
    moved
    typed penstock dump --from-snapshot "$method" "$uri" --schemas shop --scratch /srv/try --to /srv/try/dump -q
    local code=$?
    # 3: the table without transactions is named.
    ((code == 0 || code == 3)) || fail "dump --from-snapshot: $code"
    nothing_left 'dump --from-snapshot'
    ls -d /srv/try/penstock-files-* 2>/dev/null && fail 'a copy of the files is left'
    moved
    writers_end
    file=$(grep -oE '"binlogFile": *"[^"]+"' /srv/try/dump/@.json | cut -d '"' -f 4)
    at=$(grep -oE '"binlogPosition": *[0-9]+' /srv/try/dump/@.json | grep -oE '[0-9]+$')
    place="CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=3306, MASTER_LOG_FILE='$file', MASTER_LOG_POS=$at"
    echo "$place"
    mariadb-install-db --no-defaults --force --skip-name-resolve --user=root --datadir=/srv/try/back --auth-root-authentication-method=normal >/srv/try/install.log 2>&1 || fail mariadb-install-db
    begin_copy
    typed penstock load /srv/try/dump --into 'mysql://root@localhost/?socket=/srv/try/sock2' -q || fail 'load of the dump'
    catches_up "$place"
    rm -rf /srv/try/dump
    for step in 'a snapshot is made#1' 'the catalog is read#1' 'a task is taken#1'; do
        PENSTOCK_KILL_AT="$step" penstock dump --from-snapshot "$method" "$uri" --schemas shop --scratch /srv/try --to /srv/try/dump -q >/srv/try/killed.log 2>&1
        code=$?
        ((code == 137)) || { cat /srv/try/killed.log; fail "not killed at $step: $code"; }
        timeout 60 mariadb -uroot --socket=/srv/try/sock -e 'CREATE TABLE shop.z (n INT); DROP TABLE shop.z' || fail "locked after $step"
        penstock snapshot clean -q --json >/srv/try/clean.json || { cat /srv/try/clean.json; fail "clean after $step"; }
        nothing_left "$step"
        ls -d /srv/try/penstock-files-* 2>/dev/null && fail "a copy of the files is left: $step"
        rm -rf /srv/try/dump
        printf '%-45s %s\n' "$step" 'killed, and nothing left'
    done
}
equal() { [[ "$(sql "$1")" == "$(restored "$1")" ]]; }

uri='mysql://root@localhost/?socket=/srv/try/sock'

# Everything of one method on one volume.
method() {
    local method=$1 file_system=$2 i step
    say "--method $method on $file_system"
    data_place "$file_system"
    begin
    typed penstock snapshot take --method "$method" "$uri" --to /srv/try/stored -q || fail take
    nothing_left take
    moved
    writers_end
    echo '$ penstock snapshot restore /srv/try/stored --datadir /srv/try/back'
    penstock snapshot restore /srv/try/stored --datadir /srv/try/back --json -q >/srv/try/restore.json || { cat /srv/try/restore.json; fail restore; }
    follows /srv/try/restore.json
    rm -rf /srv/try/stored

    say "--method $method on $file_system: kept, dumped from, restored, removed"
    writers_begin
    moved
    penstock snapshot take --method "$method" "$uri" --keep --json -q >/srv/try/kept.json || { cat /srv/try/kept.json; fail keep; }
    local kept directory id
    kept=$(sed -n 's/.*"kept":"\([^"]*\)".*/\1/p' /srv/try/kept.json)
    directory=$(sed -n 's/.*"directory":"\([^"]*\)".*/\1/p' /srv/try/kept.json)
    id=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' /srv/try/kept.json)
    typed penstock snapshot list -q
    volumes
    grep penstock- /proc/mounts
    typed penstock dump --from-files "$kept" --recover --schemas shop --to /srv/try/dump -q --scratch /srv/try
    local code=$?
    # 3: the table without transactions is named.
    ((code == 0 || code == 3)) || fail "dump --from-files: $code"
    writers_end
    penstock snapshot restore "$directory" --datadir /srv/try/back --json -q >/srv/try/restore.json || { cat /srv/try/restore.json; fail 'restore of a kept one'; }
    follows /srv/try/restore.json /srv/try/dump
    typed penstock snapshot clean "$id" -q || fail clean
    nothing_left clean
    rm -rf /srv/try/dump

    dumped_at_once "$method" "$file_system"

    say "--method $method on $file_system: killed, and cleaned"
    for step in 'a snapshot is recorded#1' 'commits are locked#1' 'all files are in the snapshot#1' 'a snapshot is made#1' \
        'a snapshot is mounted#1' 'a piece is written#3' 'all pieces are written#1' 'a snapshot is about to be removed#1' \
        'a snapshot is removed#1'; do
        PENSTOCK_KILL_AT="$step" penstock snapshot take --method "$method" "$uri" --to /srv/try/stored --json -q >/srv/try/killed.json 2>&1
        code=$?
        ((code == 137)) || { cat /srv/try/killed.json; fail "not killed at $step: $code"; }
        # No lock is left.
        timeout 60 mariadb -uroot --socket=/srv/try/sock -e 'INSERT INTO shop.done VALUES (9); CREATE TABLE shop.z (n INT); DROP TABLE shop.z' || fail "locked after $step"
        printf '%-45s %s\n' "$step" "$(made | grep . || echo 'no snapshot')"
        penstock snapshot clean -q --json >/srv/try/clean.json || { cat /srv/try/clean.json; fail "clean after $step"; }
        nothing_left "$step"
        rm -rf /srv/try/stored
    done
    # A mount that was killed in the middle of reading it.
    # The program itself, and no shell around it.
    /payload/penstock snapshot take --method "$method" "$uri" --to /srv/try/stored --max-rate 1M --json -q >/srv/try/killed.json 2>&1 &
    i=$!
    until_so 'pieces' compgen -G '/srv/try/stored/*.zst'
    kill -9 "$i"
    # The shell would say that it was killed.
    { wait "$i"; } 2>/dev/null
    typed penstock snapshot clean -q || fail 'clean after kill -9'
    nothing_left 'kill -9'
    rm -rf /srv/try/stored

    say "--method $method on $file_system: killed, and its record lost"
    PENSTOCK_KILL_AT='a piece is written#3' penstock snapshot take --method "$method" "$uri" --to /srv/try/stored --json -q >/srv/try/killed.json 2>&1
    rm "$PENSTOCK_STATE"/snapshot-*.json
    typed penstock snapshot clean -q
    code=$?
    ((code == 3)) || fail "a snapshot without a record: $code"
    i=$(made | grep -o '20[0-9TZ]*-[0-9a-f]*')
    typed penstock snapshot clean "$i" -q || fail 'clean without a record'
    nothing_left 'without a record'
    rm -rf /srv/try/stored
}
