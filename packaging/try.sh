#!/bin/bash
# Runs on a fresh Debian that ./dev package has started: installs the package there, uses it as its page says, and purges it.
# The last line is "try: done" only if every step was as it must be.
set -euo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive HOME=/root PAGER=cat NO_COLOR=1
cd /

# step WHAT COMMAND…: runs it, and shows what it printed; the first that fails ends the trial.
step() {
    local what=$1 code=0
    shift
    printf '\n· %s\n' "$what"
    # Not with ||, where a function would continue after a command that failed.
    set +e
    (set -e && "$@") >/tmp/step.log 2>&1 </dev/null
    code=$?
    set -e
    sed 's/^/    /' /tmp/step.log
    printf '    -> %s\n' "$( ((code == 0)) && echo ok || echo "code $code")"
    ((code == 0)) || exit 1
}
as_penstock() { runuser -u penstock -- env HOME=/var/lib/penstock "$@"; }
# unit NAME: starts the service as its timer would, waits for its end, and shows what it wrote into the journal.
unit() {
    local code=0
    systemctl start "penstock-$1.service" || code=$?
    journalctl --quiet --sync || true
    journalctl --quiet --no-pager --output=cat --unit="penstock-$1.service" | tail -n "${2:-14}"
    return "$code"
}

install_it() { apt-get install -y -q --no-install-recommends /root/penstock.deb; }

as_it_must_be() {
    dpkg --verify penstock
    penstock --version
    # An account that may not read the configuration works without one.
    runuser -u nobody -- penstock --version
    runuser -u nobody -- env HOME=/tmp penstock status
    man -w penstock >/dev/null 2>&1 || test -s /usr/share/man/man1/penstock.1.gz
    stat -c '%A %U:%G %n' /etc/penstock/penstock.toml /etc/penstock/credentials /var/lib/penstock /var/backups/penstock
    [[ $(stat -c '%a %U:%G' /etc/penstock/penstock.toml) == '640 root:penstock' ]]
    [[ $(stat -c '%a %U' /var/lib/penstock) == '700 penstock' ]]
    for name in backup prune check drill; do
        [[ $(systemctl is-enabled "penstock-$name.timer") == disabled ]]
        [[ $(systemctl is-active "penstock-$name.timer") == inactive ]]
    done
    echo "no timer is enabled"
}

units() {
    local name
    systemd-analyze verify --man=no /usr/lib/systemd/system/penstock-*.{service,timer}
    for name in backup prune check drill; do
        systemd-analyze security --no-pager "penstock-$name.service" | tail -n 1
    done
}

server() {
    until mariadb-admin --silent ping; do sleep 0.2; done
    mariadb --execute "
        CREATE DATABASE shop;
        USE shop;
        CREATE TABLE shop.orders (id INT AUTO_INCREMENT PRIMARY KEY, item VARCHAR(100), KEY (item));
        INSERT INTO shop.orders (item) SELECT CONCAT('item ', seq) FROM seq_1_to_50000;
        CREATE VIEW shop.items AS SELECT item FROM shop.orders;
        CREATE USER penstock@localhost IDENTIFIED VIA unix_socket;
        CREATE USER backup@'%' IDENTIFIED BY 'a secret';
        GRANT RELOAD, BINLOG MONITOR, PROCESS ON *.* TO penstock@localhost, backup@'%';
        GRANT SELECT ON mysql.proc TO penstock@localhost, backup@'%';
        GRANT SELECT, SHOW VIEW, TRIGGER, EVENT ON shop.* TO penstock@localhost, backup@'%'"
    mariadb --execute 'SELECT VERSION(), COUNT(*) FROM shop.orders'
}

configuration() {
    install -m 0600 /dev/stdin /etc/penstock/credentials/tcp.cnf <<'TEXT'
[client]
password=a secret
TEXT
    cat >/etc/penstock/penstock.toml <<'TEXT'
repository = "/var/backups/penstock"

[backup]
schemas = ["shop"]

[prune]
keep-last = 2

[drill]
check = ["SELECT COUNT(*) = 50000 FROM shop.orders"]

# By the socket, as the account of the services, without a password.
[servers.local]
socket = "/run/mysqld/mysqld.sock"
user = "penstock"

# By TCP, with a password that only root can read.
[servers.tcp]
source = "mysql://backup@127.0.0.1:3306/"
defaults-file = "/run/credentials/penstock-backup.service/penstock_tcp.cnf"
TEXT
    # The service has the password; to ask for the configuration by hand, an empty file stands in its place.
    install -d -o penstock /run/credentials /run/credentials/penstock-backup.service
    install -o penstock -m 0600 /dev/null /run/credentials/penstock-backup.service/penstock_tcp.cnf
    as_penstock penstock config check
    rm -r /run/credentials/penstock-backup.service
}

backups() {
    local count
    count=$(as_penstock penstock list --json | grep -o '"id":' | wc -l)
    as_penstock penstock list
    ((count == $1)) || { echo "$count backups, not $1"; return 1; }
}

# What a drill must leave of its server: nothing.
no_leftovers() {
    if [[ -n $(find /var/tmp -name '*penstock-drill*') ]]; then echo 'a scratch directory is left' && return 1; fi
    if pgrep -a -u penstock; then echo 'a process is left' && return 1; fi
}

proven() {
    unit drill 30
    no_leftovers
    [[ $(as_penstock penstock list --json | grep -oE '"proven": *"' | wc -l) == 2 ]] || { echo 'the list does not say so' && return 1; }
}

stopped() {
    local tries=0
    systemctl start --no-block penstock-drill.service
    until pgrep -u penstock mariadbd; do
        ((++tries < 600)) || { echo 'its server does not start' && return 1; }
        sleep 0.1
    done
    systemctl stop penstock-drill.service
    systemctl show --property=Result,ExecMainStatus penstock-drill.service
    no_leftovers
}

removed() {
    if [[ -e /usr/bin/penstock ]]; then return 1; fi
    test -f /etc/penstock/penstock.toml
    test -d /var/lib/penstock
    test -f /var/backups/penstock/repository.json
    echo 'the program is gone; the configuration, the account and the backups are there'
}

purged() {
    apt-get purge -y -q penstock
    echo 'what stays:'
    find / -xdev \( -path /proc -o -path /sys -o -path /run -o -path /tmp -o -path /root -o -path '/var/log/*' -o -path '/var/cache/*' \) \
        -prune -o \( -name '*penstock*' -o -user penstock \) -print | grep -v penstock-try | sed 's|^\(/var/backups/penstock/[^/]*\)/.*|\1/…|' | sort -u
    test -f /var/backups/penstock/repository.json
    test ! -e /etc/penstock/penstock.toml
    test ! -e /var/lib/penstock
    test ! -e /usr/lib/systemd/system/penstock-backup.service
    getent passwd penstock
}

step 'apt-get install ./penstock.deb' install_it
step 'The account, the files, the timers' as_it_must_be
step 'The units: systemd-analyze verify and security' units
step 'MariaDB with some rows and two accounts' server
step 'A configuration of two servers; penstock config check' configuration
step 'penstock init' as_penstock penstock init /var/backups/penstock
step 'systemctl start penstock-backup' unit backup 40
step 'penstock list' backups 2
step 'systemctl start penstock-check' unit check
step 'systemctl start penstock-drill' proven
step 'A drill that is stopped while its server runs' stopped
step 'systemctl start penstock-backup, twice more' eval 'unit backup 0 && unit backup 0'
step 'systemctl start penstock-prune' unit prune
step 'penstock list' backups 4
step 'systemctl enable --now penstock-backup.timer' systemctl enable --now penstock-backup.timer
step 'Install it again: the changed configuration stays' eval 'apt-get install -y -q --reinstall --no-install-recommends /root/penstock.deb && grep -q "servers.tcp" /etc/penstock/penstock.toml'
step 'apt-get remove' eval 'apt-get remove -y -q penstock && removed'
step 'apt-get purge' purged
printf '\ntry: done\n'
