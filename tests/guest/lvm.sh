#!/bin/bash
# The only program of the guest of ./dev test-lvm: snapshots by LVM of a MariaDB server that is written to.
# shellcheck source=tests/guest/shared.sh
source /payload/shared.sh

made() { lvs --noheadings -o lv_name vg | grep penstock; }
volumes() { lvs --noheadings -o lv_name,lv_attr,origin,lv_tags vg; }
# The volume that is tested.
device=
data_place() {
    "mkfs.$1" -q "$device" >/dev/null || fail mkfs
    mount "$device" /srv/db || fail mount
}

begin_guest dm-mod dm-snapshot dm-thin-pool xfs ext4
lvm version | head -n 1
vgcreate -q vg /dev/vdc >/dev/null || fail vgcreate

say 'LVM'
lvcreate -q -y -n plain -L 2G vg >/dev/null || fail lvcreate
device=/dev/vg/plain
method lvm xfs

say '--method lvm: given up before its room is full'
writers_begin
penstock snapshot take --method lvm "$uri" --to /srv/try/stored --snapshot-size 64M --max-rate 300k -q --json >/srv/try/full.json 2>&1
code=$?
writers_end
tail -n 2 /srv/try/full.json
((code == 8)) || fail "a snapshot without room: $code"
grep -q 'of the snapshot.s room is used' /srv/try/full.json || fail 'it was full before it was given up'
nothing_left full
typed penstock snapshot take --method lvm-thin "$uri" --to /srv/try/stored -q && fail 'lvm-thin on a plain volume'
end_server
method lvm ext4
end_server
lvremove -q -y vg/plain >/dev/null || fail lvremove

say 'LVM, thin'
lvcreate -q -y --type thin-pool -L 3G -n pool vg >/dev/null || fail 'a pool'
lvcreate -q -y -V 2G --thinpool vg/pool -n thin >/dev/null || fail 'a thin volume'
device=/dev/vg/thin
method lvm-thin xfs
typed penstock snapshot take --method lvm "$uri" --to /srv/try/stored -q && fail 'lvm on a thin volume'
end_server
say 'At the end'
volumes
end PASSED
