#!/bin/bash
# The only program of the guest of ./dev test-zfs: snapshots by ZFS of a MariaDB server that is written to.
# shellcheck source=tests/guest/shared.sh
source /payload/shared.sh

made() { zfs list -H -t snapshot -o name | grep penstock; }
volumes() { zfs list -t all -o name,used,refer,mountpoint; }
data_place() {
    zfs create -o mountpoint=/srv/db -o recordsize=16k -o quota=2G tank/db || fail 'zfs create'
}

# The cache of ZFS would take half of the memory.
echo 'options zfs zfs_arc_max=268435456' >/etc/modprobe.d/zfs.conf
begin_guest zfs
zfs version
zpool create -o ashift=12 -m none tank /dev/vdc || fail 'zpool create'

method zfs 'a dataset'

say '--method zfs: given up before its room is used'
writers_begin
# It begins with enough, and then most of the quota is filled.
typed penstock snapshot take --method zfs "$uri" --to /srv/try/stored --keep-free 30% --max-rate 300k -q --json >/srv/try/full.json 2>&1 &
taking=$!
until_so 'a snapshot' made
dd if=/dev/urandom of=/srv/db/fill bs=1M count=1400 status=none || fail dd
wait "$taking"
code=$?
writers_end
rm /srv/db/fill
tail -n 2 /srv/try/full.json
((code == 8)) || fail "a snapshot without room: $code"
nothing_left full
rm -rf /srv/try/stored

say '--method zfs: snapshots that belong to others, or that others need'
zfs snapshot tank/db@daily || fail 'zfs snapshot'
typed penstock snapshot take --method zfs "$uri" --to /srv/try/stored -q || fail take
[[ $(zfs list -H -t snapshot -o name) == tank/db@daily ]] || fail 'a snapshot of somebody else'
zfs destroy tank/db@daily
rm -rf /srv/try/stored
keep() {
    penstock snapshot take --method zfs "$uri" --keep --json -q >/srv/try/kept.json || { cat /srv/try/kept.json; fail keep; }
    id=$(sed -n 's/.*"id":"\([^"]*\)".*/\1/p' /srv/try/kept.json)
}
# cannot_clean WORDS: it is said why, and the snapshot is not forgotten.
cannot_clean() {
    typed penstock snapshot clean "$id" -q >/srv/try/clean.txt && fail "a snapshot was removed: $1"
    cat /srv/try/clean.txt
    grep -q "$1" /srv/try/clean.txt || fail "no word of it: $1"
    penstock snapshot list --json -q | grep -q "$id" || fail "it was forgotten: $1"
    grep -q "penstock-snapshot-$id/mnt zfs" /proc/mounts || fail "it is not readable any more: $1"
}
keep
zfs clone "tank/db@penstock-$id" tank/clone || fail 'zfs clone'
cannot_clean clone
zfs destroy tank/clone || fail 'zfs destroy'
typed penstock snapshot clean "$id" -q || fail clean
nothing_left clone
keep
zfs hold mine "tank/db@penstock-$id" || fail 'zfs hold'
cannot_clean 'zfs holds'
zfs release mine "tank/db@penstock-$id" || fail 'zfs release'
typed penstock snapshot clean "$id" -q || fail clean
nothing_left hold
keep
end_server
zfs rename tank/db tank/old || fail 'zfs rename'
cannot_clean 'renamed, or a copy'
zfs rename tank/old tank/db || fail 'zfs rename'
typed penstock snapshot clean "$id" -q || fail clean
nothing_left rename

# again OPTIONS: a server on a new dataset, whose data directory is the dataset itself.
again() {
    zfs destroy -r tank/db || fail 'zfs destroy'
    zfs create "$@" tank/db || fail 'zfs create'
}
# snapshot_of_dataset WHAT: taken under writes, restored, followed to equality.
snapshot_of_dataset() {
    say "--method zfs: $1"
    begin
    typed penstock snapshot take --method zfs "$uri" --to /srv/try/stored -q || fail take
    nothing_left take
    moved
    writers_end
    penstock snapshot restore /srv/try/stored --datadir /srv/try/back --json -q >/srv/try/restore.json || { cat /srv/try/restore.json; fail restore; }
    follows /srv/try/restore.json
    rm -rf /srv/try/stored
}
again -o mountpoint=/srv/db/data -o snapdir=visible
snapshot_of_dataset 'the data directory is a dataset, whose snapshots are visible'
# A schema that is a dataset of its own would be an empty directory in the snapshot.
zfs create tank/db/other || fail 'zfs create'
rm -rf /srv/try/stored
penstock snapshot take --method zfs "$uri" --to /srv/try/stored -q 2>&1 | tee /srv/try/child.txt
grep -q '/srv/db/data/other cannot be part of a snapshot' /srv/try/child.txt || fail 'a dataset in the data directory'
zfs destroy tank/db/other
# A copy of the stopped server does not go into the snapshots that are visible.
zfs snapshot tank/db@daily || fail 'zfs snapshot'
ls /srv/db/data/.zfs/snapshot/daily >/dev/null || fail 'it is not visible'
kill "$server" && wait "$server"
rm -rf /srv/try/stored
typed penstock snapshot take --method copy --datadir /srv/db/data --to /srv/try/stored -q || fail copy
typed penstock snapshot restore /srv/try/stored --datadir /srv/try/back -q || fail 'restore of a copy'
rm -rf /srv/try/stored /srv/try/back
again -o mountpoint=legacy
mkdir -p /srv/db /srv/bound
mount -t zfs tank/db /srv/bound || fail 'mount -t zfs'
mkdir -p /srv/bound/var/data /srv/db/data
mount --bind /srv/bound/var/data /srv/db/data || fail 'mount --bind'
snapshot_of_dataset 'a directory of a dataset with mountpoint=legacy, bound to another place'

say 'Where it does not apply'
refused() {
    typed penstock snapshot take --method "$1" "$uri" --to /srv/try/stored -q >/srv/try/refused.txt && fail "$1 was taken"
    cat /srv/try/refused.txt
    grep -q "$2" /srv/try/refused.txt || fail "no word of it: $2"
}
refused reflink 'is not for ZFS'
refused lvm 'which is no logical volume'
# What a killed run has recorded, when its dataset is gone.
PENSTOCK_KILL_AT='a snapshot is made#1' penstock snapshot take --method zfs "$uri" --to /srv/try/stored -q >/srv/try/killed.log 2>&1
code=$?
((code == 137)) || { cat /srv/try/killed.log; fail "not killed: $code"; }
rm -rf /srv/try/stored
kill "$server" && wait "$server"
umount /srv/db/data /srv/bound || fail umount
zfs destroy -r tank/db || fail 'zfs destroy'
typed penstock snapshot clean -q || fail 'clean without the dataset'
nothing_left 'a dataset that is gone'
rm -rf /srv/db/data
begin
refused zfs 'is not on ZFS'
writers_end
kill "$server" && wait "$server"
say 'At the end'
volumes
end PASSED
