# ./dev article disk: what several places can do as places of a server's files. The article measured five disks of a cloud server by
# a disk benchmark, five runs each, and moved data directory and tmpdir accordingly; another one striped volumes.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./dev and of bench/articles/shared.sh

article_disk() {
    local size=512M runs=5 measure=1s ramp=500ms held=$((40 << 20)) places=() names=() image=2G
    found_title 'Disks: which of them is good for what'
    case $SCALE in
    0) size=32M runs=1 measure=100ms ramp=0s image=256M ;;
    1) ;;
    *) size=$((512 * SCALE))M measure=3s ramp=1s image=$((2 * SCALE))G ;;
    esac
    found_setting 'file' "$size"
    found_setting 'runs' "$runs of $measure each"

    mkdir "$WORK/disk"
    disk_place "the machine's disk" "$WORK/disk"
    local command=(penstock)
    if loop_directory held "$image" && held_to "$LOOP_DEVICE" "$held"; then
        command=("${HELD_BY[@]}" penstock)
        disk_place 'a loop device held to 40 MiB/s by the kernel' "$LOOP_DIRECTORY"
    else
        found_lacks 'a device held to a rate by the kernel' '-' "$LACKING"
    fi
    if disk_striped "$image"; then
        disk_place 'two loop devices, striped' "$WORK/striped"
    else
        found_lacks 'two devices, striped' '-' "$LACKING"
    fi
    if disk_memory; then
        disk_place 'memory (tmpfs)' "$MEMORY_DIRECTORY"
    else
        found_lacks 'memory (tmpfs)' '-' "$LACKING"
    fi

    say "measuring ${#places[@]} places, $runs runs each"
    local code=0
    "${command[@]}" bench disk "${places[@]}" --size "$size" --runs "$runs" --measure "$measure" --ramp "$ramp" --record "$WORK/disk.json" --quiet >"$WORK/disk.txt" || code=$?
    ((code == 0 || code == 3)) || { cat "$WORK/disk.txt" >&2; die "penstock bench disk failed"; }
    # By their names: a path of this run says nothing.
    local n
    for n in "${!places[@]}"; do sed -i "s#${places[n]}#${names[n]}#g" "$WORK/disk.json"; done
    for n in "${!places[@]}"; do
        disk_row "sequential rewrite, ${names[n]}" 'sequential rewrite' "$n" 1000000 'MB/s'
        disk_row "random read, 1 at a time, ${names[n]}" 'random read, queue depth 1' "$n" 1 'pages/s'
        disk_row "random write, 16 at a time, ${names[n]}" 'random write, queue depth 16' "$n" 1 'pages/s'
        disk_row "durable commits of one session, ${names[n]}" 'commit, 1 session' "$n" 1 '/s'
    done
    found_sections "$WORK/disk.json"
    found_sentence 'The article measured five disks of a server in a cloud, each five times, because what a volume is sold as says little of what a database gets from it; then it moved data directory and tmpdir to the volumes that were best for each.'
    found_sentence "Here one command measured ${#places[@]} places side by side by what a server waits for: commits, pages, files; the bars have the spread of $( ((runs == 1)) && echo "one run" || echo "$runs runs")."
    found_sentence "$(disk_verdict)"
}

# disk_place NAME DIRECTORY
disk_place() { names+=("$1") places+=("$2"); }

# Two loop devices as one, where there is a device mapper; false with LACKING.
disk_striped() {
    local first second sectors
    if ! have dmsetup || ! dmsetup version >"$WORK/out" 2>&1; then
        LACKING='no device mapper (dmsetup version fails)'
        return 1
    fi
    loop_directory stripe1 "$1" && first=$LOOP_DEVICE && loop_directory stripe2 "$1" && second=$LOOP_DEVICE || return 1
    umount "$WORK/stripe1" "$WORK/stripe2"
    sectors=$(($(blockdev --getsz "$first") / 256 * 256))
    # Stripes of 64 KiB, four pages of InnoDB.
    dmsetup create "penstock-$$" --table "0 $((2 * sectors)) striped 2 128 $first 0 $second 0" || { LACKING='the device mapper refused to stripe'; return 1; }
    at_end dmsetup remove "penstock-$$"
    mkfs.ext4 -q -F "/dev/mapper/penstock-$$" && mkdir -p "$WORK/striped" && mount "/dev/mapper/penstock-$$" "$WORK/striped"
    at_end in_the_end umount "$WORK/striped"
}

# Sets MEMORY_DIRECTORY; false with LACKING.
disk_memory() {
    if [[ $(stat -f -c %T /dev/shm 2>/dev/null) == tmpfs && -w /dev/shm ]]; then
        MEMORY_DIRECTORY=$(mktemp -d /dev/shm/penstock.XXXXXX)
        at_end rm -rf "$MEMORY_DIRECTORY"
        return 0
    fi
    LACKING='no tmpfs at /dev/shm that can be written'
    return 1
}

# disk_row WHAT PATTERN PLACE DIVISOR UNIT: the median of a pattern at a place, with the least and the most of the runs. The figures of
# the article, which are bars of bonnie++, are not known here.
disk_row() {
    local cells
    cells=$(jq -r --arg title "$2" --argjson place "$3" --argjson by "$4" --arg unit "$5" '
        def n: . / $by | if . < 10 then (. * 10 | round / 10) else round end | tostring;
        [.sections[].bars[]? | select(.title == $title) | .items[$place]][0] // empty
        | if .mean == null then "not measured\t" else "\(.mean | n) \($unit)\t\(.low | n) to \(.high | n)" end' "$WORK/disk.json")
    found_row "$1" '-' "${cells%%$'\t'*}" "${cells#*$'\t'}"
}

# Where the data directory and tmpdir belong, by what was measured.
disk_verdict() {
    jq -r --argjson names "$(printf '%s\n' "${names[@]}" | jq -R . | jq -sc .)" '
        def best(t): [.sections[].bars[]? | select(.title == t) | .items | to_entries[] | select($names[.key] | startswith("memory") | not) | select(.value.mean != null)] | max_by(.value.mean) | $names[.key];
        "Data directory and logs belong on what commits fastest, \(best("commit, 1 session")); tmpdir on what writes files in order fastest, \(best("sequential rewrite")); memory takes a tmpdir only as far as it reaches, and no data."' "$WORK/disk.json"
}
