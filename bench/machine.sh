# Things of the machine that a benchmark or an article needs, and that are put back when it ends.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./dev and of who uses them

# at_end COMMAND…: run when this ends, however it ends; the last one first.
at_end() { AT_END=("$(printf '%q ' "$@")" "${AT_END[@]}"); }

# For what processes that are ending still use: a command, tried again for ten seconds.
in_the_end() {
    local n
    for ((n = 0; n < 100; n++)); do
        "$@" 2>"$WORK/out" && return 0
        sleep 0.1
    done
    cat "$WORK/out" >&2
    return 1
}

# A file system in a file, on a loop device: loop_directory NAME SIZE [xfs] sets LOOP_DIRECTORY and LOOP_DEVICE; false with LACKING.
loop_directory() {
    local image="$WORK/$1.image"
    LACKING='' LOOP_DIRECTORY="$WORK/$1" LOOP_DEVICE=''
    if ((EUID != 0)); then
        LACKING='a loop device, which only root sets up'
        return 1
    fi
    need mkfs.ext4:e2fsprogs losetup:mount
    truncate -s "$2" "$image"
    if ! LOOP_DEVICE=$(losetup --find --show "$image" 2>"$WORK/out"); then
        LACKING="a loop device: $(tail -n 1 "$WORK/out")"
        return 1
    fi
    at_end losetup --detach "$LOOP_DEVICE"
    case ${3:-ext4} in
    ext4) mkfs.ext4 -q -F "$LOOP_DEVICE" >"$WORK/out" 2>&1 ;;
    xfs) need mkfs.xfs:xfsprogs && mkfs.xfs -q -f -m reflink=1 "$LOOP_DEVICE" >"$WORK/out" 2>&1 ;;
    esac
    mkdir -p "$LOOP_DIRECTORY"
    if ! mount "$LOOP_DEVICE" "$LOOP_DIRECTORY" 2>"$WORK/out"; then
        LACKING="a mount of a loop device: $(tail -n 1 "$WORK/out")"
        return 1
    fi
    at_end in_the_end umount "$LOOP_DIRECTORY"
}

# Sets HELD_BY to the beginning of a command whose reads and writes of a device the kernel holds to so many bytes a second each, and
# to so many reads if that is said: held_to DEVICE BYTES [READS]; false with LACKING.
held_to() {
    local numbers group
    LACKING='' HELD_BY=() numbers=$(lsblk -nro MAJ:MIN "$1")
    if [[ -f /sys/fs/cgroup/cgroup.controllers ]] && grep -qw io /sys/fs/cgroup/cgroup.controllers; then
        group=/sys/fs/cgroup/penstock-$$
        echo +io >/sys/fs/cgroup/cgroup.subtree_control 2>"$WORK/out" || true
        mkdir -p "$group"
        at_end in_the_end rmdir "$group"
        if ! echo "$numbers rbps=$2 wbps=$2${3:+ riops=$3}" 2>"$WORK/out" >"$group/io.max"; then
            LACKING='io.max of the kernel for this device'
            return 1
        fi
    elif [[ -d /sys/fs/cgroup/blkio ]]; then
        group=/sys/fs/cgroup/blkio/penstock-$$
        mkdir -p "$group"
        at_end in_the_end rmdir "$group"
        if ! { echo "$numbers $2" >"$group/blkio.throttle.read_bps_device" && echo "$numbers $2" >"$group/blkio.throttle.write_bps_device"; } 2>"$WORK/out"; then
            LACKING='the limits of the kernel (blkio.throttle) for this device'
            return 1
        fi
        [[ -z ${3:-} ]] || echo "$numbers $3" >"$group/blkio.throttle.read_iops_device"
    else
        LACKING='control groups of the kernel that hold a device to a rate'
        return 1
    fi
    # shellcheck disable=SC2016 # variables of the inner shell
    HELD_BY=(bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")
}
