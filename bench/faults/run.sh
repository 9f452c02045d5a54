# ./dev bench faults: dumps that are damaged, and what the tools make of them: noticed, harmless, or loaded with code 0 and other
# data or definitions than the source has. Equality is judged by the servers' own dump tool, run on both servers.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_faults() {
    local flavour=mariadb times=20 seed=1 load tools tool kind
    options faults 'flavour times seed' "$@"
    [[ $times =~ ^[1-9][0-9]*$ ]] || die "--times $times is no number of faults of each kind"
    need_tools
    need perl:perl-base
    # Debian's is old, and one that is not there is a row less.
    [[ -n ${MYDUMPER:-} ]] || have mydumper || (install_packages mydumper) || true
    need_flavour "$FLAVOUR"
    build penstock testkit
    machine_load
    export PENSTOCK_STATE="$WORK/state"
    RESULTS="$WORK/results" RANDOM=$seed
    : >"$RESULTS"
    server source "$FLAVOUR"
    server target "$FLAVOUR" --server-id=2 --skip-log-bin
    testkit sample sakila --kind "$FLAVOUR" --socket "$SOURCE_SOCKET" >"$WORK/out"
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    mapfile -t DUMP < <(testkit client "$FLAVOUR" dump)
    FAULTS_OPTIONS=(--routines --triggers --events --single-transaction)
    [[ $FLAVOUR == mariadb ]] || FAULTS_OPTIONS+=(--set-gtid-purged=OFF)
    MYDUMPER=${MYDUMPER:-$(command -v mydumper || true)}
    MYLOADER=${MYLOADER:-$(command -v myloader || true)}
    # Version 0.10 reads other columns than those of routines from a new MySQL.
    MYDUMPER_OPTIONS=()
    [[ $FLAVOUR == mysql ]] || MYDUMPER_OPTIONS=(--routines --events)
    tools=(penstock "${DUMP[-1]##*/}")
    [[ -z $MYDUMPER ]] || tools+=(mydumper)
    STOCK=${tools[1]}
    for tool in "${tools[@]}"; do
        title "$tool"
        faults_prepare "$tool" || continue
        for kind in flip cut lost older exchanged full killed; do "faults_$kind" "$tool"; done
    done
    faults_text >"$WORK/faults.md"
    printf '\n'
    cat "$WORK/faults.md"
    new_recording faults "$FLAVOUR"
    cp "$WORK/faults.md" "$RECORDING.md"
    put_recorded_page docs/faults.md faults
    title "Recorded as $RECORDING.md"
}

# ---------------------------------------------------------------- the tools

# faults_dump TOOL DIR: dumps the sample; its exit code.
faults_dump() {
    rm -rf "$2"
    case $1 in
    penstock) penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas sakila --chunk-size 64k --to "$2" >"$WORK/out" 2>&1 </dev/null ;;
    mydumper) "$MYDUMPER" --socket "$SOURCE_SOCKET" --user root --database sakila --outputdir "$2" --triggers "${MYDUMPER_OPTIONS[@]}" --rows 5000 >"$WORK/out" 2>&1 </dev/null ;;
    *) mkdir "$2" && "${DUMP[@]}" --no-defaults --user=root --socket="$SOURCE_SOCKET" "${FAULTS_OPTIONS[@]}" --databases sakila >"$2/sakila.sql" 2>"$WORK/out" </dev/null ;;
    esac
}

# faults_load TOOL DIR: loads it into the target; its exit code.
faults_load() {
    case $1 in
    penstock) timeout 300 penstock load "$2" --quiet --socket "$TARGET_SOCKET" --user root >"$WORK/loaded" 2>&1 </dev/null ;;
    mydumper) timeout 300 "$MYLOADER" --socket "$TARGET_SOCKET" --user root --directory "$2" --overwrite-tables >"$WORK/loaded" 2>&1 </dev/null ;;
    *) timeout 300 "${CLIENT[@]}" --no-defaults --user=root --socket="$TARGET_SOCKET" <"$2/sakila.sql" >"$WORK/loaded" 2>&1 ;;
    esac
}

# What a server has, rows and definitions, as its own tool prints it.
faults_state() {
    "${DUMP[@]}" --no-defaults --user=root --socket="$1" "${FAULTS_OPTIONS[@]}" --skip-dump-date --order-by-primary --databases sakila 2>&1 |
        sed -e '/^-- Server version/d' -e 's/ AUTO_INCREMENT=[0-9]*//'
}

faults_empty() {
    testkit sql --socket "$TARGET_SOCKET" 'DROP DATABASE IF EXISTS sakila' >"$WORK/out"
}

# Two dumps: of an earlier state, and of the one that counts. An undamaged dump has to arrive; a tool that cannot do that has a row
# that says so.
faults_prepare() {
    local tool=$1
    faults_dump "$tool" "$WORK/older" || { faults_fails "$tool" "its dump fails here: $(tail -n 1 "$WORK/out")" && return 1; }
    testkit sql --socket "$SOURCE_SOCKET" "UPDATE sakila.actor SET first_name = CONCAT('N', first_name) WHERE actor_id % 2 = 1" >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" 'UPDATE sakila.payment SET amount = amount + 1 WHERE payment_id % 3 = 0' >"$WORK/out"
    testkit sql --socket "$SOURCE_SOCKET" "UPDATE sakila.film SET title = CONCAT(title, ' 2') WHERE film_id % 5 = 0" >"$WORK/out"
    faults_dump "$tool" "$WORK/whole" || { faults_fails "$tool" "its dump fails here: $(tail -n 1 "$WORK/out")" && return 1; }
    faults_state "$SOURCE_SOCKET" >"$WORK/source.sql"
    faults_empty
    faults_load "$tool" "$WORK/whole" || { faults_fails "$tool" "its load of an undamaged dump fails here: $(tail -n 1 "$WORK/loaded")" && return 1; }
    faults_state "$TARGET_SOCKET" >"$WORK/target.sql"
    # What a tool changes without any damage is no fault of the damage.
    cp "$WORK/target.sql" "$WORK/expected.sql"
    if cmp -s "$WORK/source.sql" "$WORK/target.sql"; then
        faults_note "$tool" 'equal to the source'
    else
        faults_note "$tool" "differs from the source in $(diff "$WORK/source.sql" "$WORK/target.sql" | grep -c '^[<>]') lines of the servers' own dump: compared with this copy instead"
    fi
}

faults_fails() {
    [[ $1 != penstock ]] || die "penstock: $2"
    say "$1: $2"
    printf 'note\t%s\t%s\nfails\t%s\n' "$1" "$2" "$1" >>"$RESULTS"
}

faults_note() {
    say "an undamaged dump arrives: $2"
    printf 'note\t%s\t%s\n' "$1" "$2" >>"$RESULTS"
}

# ---------------------------------------------------------------- one fault

# faults_try TOOL KIND WHAT: loads the damaged dump and judges what came of it.
faults_try() {
    local tool=$1 kind=$2 what=$3 code=0 verdict
    faults_empty
    faults_load "$tool" "$WORK/damaged" || code=$?
    if ((code)); then
        verdict=noticed
    elif faults_state "$TARGET_SOCKET" | cmp -s - "$WORK/expected.sql"; then
        verdict=harmless
    else
        verdict=wrong
    fi
    faults_is "$tool" "$kind" "$verdict" "$what, code $code"
}

faults_is() {
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$RESULTS"
    [[ $3 != wrong ]] || say "$1, $2: $4: other data, and nothing was said"
}

faults_copy() { rm -rf "$WORK/damaged" && cp -r "$WORK/whole" "$WORK/damaged"; }

# A file of the damaged dump: each byte of all of them is as likely. Sets FILE and the offset AT.
faults_place() {
    local size all=0 file
    local -a files sizes
    while IFS= read -r file; do
        size=$(stat -c %s "$file")
        ((size)) || continue
        files+=("$file") sizes+=("$size")
        all=$((all + size))
    done < <(find "$WORK/damaged" -type f | sort)
    # RANDOM has 15 bits, and another sequence in a subshell.
    AT=$(((RANDOM * 32768 + RANDOM) % all))
    for size in "${!sizes[@]}"; do
        FILE=${files[$size]}
        ((AT < sizes[size])) && return
        AT=$((AT - sizes[size]))
    done
}

faults_flip() {
    local n bit
    for ((n = 1; n <= times; n++)); do
        faults_copy && faults_place
        bit=$((RANDOM % 8))
        # shellcheck disable=SC2016 # Perl's variables
        perl -e 'my ($file, $at, $bit) = @ARGV; open my $f, "+<", $file or die; seek $f, $at, 0; read $f, my $byte, 1;
            seek $f, $at, 0; print $f chr(ord($byte) ^ (1 << $bit)); close $f or die' "$FILE" "$AT" "$bit"
        faults_try "$1" flip "${FILE##*/}: byte $AT, bit $bit"
    done
}

faults_cut() {
    local n
    for ((n = 1; n <= times; n++)); do
        faults_copy && faults_place
        truncate -s "$AT" "$FILE"
        faults_try "$1" cut "${FILE##*/}: cut after $AT bytes"
    done
}

# The files of a dump of several, in an order that the seed decides.
faults_files() { find "$WORK/$1" -type f -printf '%P\n' | sort | shuf --random-source=<(yes "$seed"); }

faults_lost() {
    local file
    [[ $1 != "$STOCK" ]] || return 0
    while IFS= read -r file; do
        faults_copy && rm "$WORK/damaged/$file"
        faults_try "$1" lost "$file is missing"
    done < <(faults_files whole | head -n "$times")
}

# A file of the dump before, with its own name: what a sync that was interrupted leaves.
faults_older() {
    local file n=0
    [[ $1 != "$STOCK" ]] || return 0
    while IFS= read -r file; do
        [[ -f $WORK/older/$file ]] && ! cmp -s "$WORK/older/$file" "$WORK/whole/$file" || continue
        faults_copy && cp "$WORK/older/$file" "$WORK/damaged/$file"
        faults_try "$1" older "$file is of the dump before"
        n=$((n + 1))
        ((n < times)) || break
    done < <(faults_files whole)
}

# Two files of rows under each other's names.
faults_exchanged() {
    local n one two names
    [[ $1 != "$STOCK" ]] || return 0
    mapfile -t names < <(faults_files whole | grep -E '(@@?[0-9]+|\.[0-9]{5})(\.tsv\.zst|\.tsv|\.sql)$|@[^/]*\.tsv' || true)
    for ((n = 0; n + 1 < ${#names[@]} && n / 2 < times; n += 2)); do
        one=${names[n]} two=${names[n + 1]}
        faults_copy
        mv "$WORK/damaged/$one" "$WORK/exchanged" && mv "$WORK/damaged/$two" "$WORK/damaged/$one" && mv "$WORK/exchanged" "$WORK/damaged/$two"
        faults_try "$1" exchanged "$one and $two"
    done
}

# Dumps onto a file system that is too small, each time a bit larger: the dump has to fail.
faults_full() {
    local n size whole code mount=$WORK/small most=$(((times + 1) / 2))
    ((EUID == 0)) || { printf 'note\t%s\t%s\n' "$1" 'a full disk needs root: not tried' >>"$RESULTS"; return 0; }
    whole=$(du -s --apparent-size --block-size=1 "$WORK/whole" | cut -f 1)
    mkdir -p "$mount"
    for ((n = 1; n <= most; n++)); do
        size=$((whole * n / (most + 1) / 4096 * 4096))
        ((size >= 8192)) || continue
        mount -t tmpfs -o size="$size" tmpfs "$mount"
        AT_END+=("! mountpoint -q '$mount' || umount '$mount'")
        code=0
        faults_dump "$1" "$mount/dump" || code=$?
        rm -rf "$WORK/damaged"
        [[ ! -d $mount/dump ]] || cp -r "$mount/dump" "$WORK/damaged"
        umount "$mount"
        if ((code)); then
            faults_is "$1" full noticed "$size bytes, code $code"
        else
            faults_try "$1" full "a disk of $size bytes, and the dump ended with code 0"
        fi
    done
}

# Dumps that were killed: what is there must not pass for a dump.
faults_killed() {
    local n began pid took
    began=${EPOCHREALTIME/./}
    faults_dump "$1" "$WORK/timed"
    took=$((${EPOCHREALTIME/./} - began))
    for ((n = 1; n <= times; n++)); do
        rm -rf "$WORK/damaged"
        # A session of its own, so that all of it is killed.
        (faults_dump "$1" "$WORK/damaged") 2>/dev/null &
        pid=$!
        sleep "$(as_seconds_exact $((took * n / (times + 1))))"
        pkill -KILL -P "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
        # Before its first file there is nothing to load.
        [[ -n $(find "$WORK/damaged" -type f -size +0 2>/dev/null | head -n 1) ]] || { faults_is "$1" killed noticed 'nothing was written yet'; continue; }
        faults_try "$1" killed "killed after $((took * n / (times + 1) / 1000)) ms"
    done
}

as_seconds_exact() { printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)); }

# ---------------------------------------------------------------- the table

faults_text() {
    local kind tool n words
    local -A said=(
        [flip]='one bit of a dump is another' [cut]='a file is cut' [lost]='a file is missing' [older]='a file is of the dump before'
        [exchanged]='two files of rows have each other'"'"'s names' [full]='the disk is full while dumping' [killed]='the dump is killed'
    )
    printf '# What the tools make of damaged dumps, %s\n\n' "$FLAVOUR"
    printf -- '- date: %s\n- server: %s\n- penstock: %s, %s\n- %s\n' "$(date -u +%FT%RZ)" "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//')" \
        "$(penstock --version)" "$(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')" "$("${DUMP[@]}" --version | sed 's/^.*\/\([^/]*  *Ver\)/\1/; s/ *$//')"
    if [[ -n $MYDUMPER ]]; then
        printf -- '- %s\n' "$("$MYDUMPER" --version 2>&1 | head -n 1)"
    else
        printf -- '- mydumper: not on this machine\n'
    fi
    printf -- '- data: the sample database sakila; seed %s\n\n' "$seed"
    printf 'A load that ends with another code than 0 counts as noticed. After code 0, the target is compared with an undamaged copy: rows, tables, views, triggers and routines,\n'
    printf 'by the dump of the server'"'"'s own tool. Equal is harmless; otherwise the target has **other data**, and no exit code said so.\n\n'
    printf '| fault |'
    for tool in "${tools[@]}"; do printf ' %s |' "$tool"; done
    printf '\n|---|'
    for tool in "${tools[@]}"; do printf -- '---|'; done
    printf '\n'
    for kind in flip cut lost older exchanged full killed; do
        printf '| %s |' "${said[$kind]}"
        for tool in "${tools[@]}"; do printf ' %s |' "$(faults_cell "$tool" "$kind")"; done
        printf '\n'
    done
    printf '\n'
    for tool in "${tools[@]}"; do
        awk -F '\t' -v t="$tool" '$1 == "note" && $2 == t { print "- " t ": " $3 }' "$RESULTS"
    done
    if grep -q $'\twrong\t' "$RESULTS"; then
        printf '\nOther data, after code 0:\n\n'
        awk -F '\t' '$3 == "wrong" { print "- " $1 ": " $4 }' "$RESULTS"
    fi
}

# What came of the faults of one kind.
faults_cell() {
    awk -F '\t' -v t="$1" -v k="$2" '
        $1 == "fails" && $2 == t { fails = 1 }
        $1 == t && $2 == k { n++; v[$3]++ }
        END {
            if (fails) { print "fails here"; exit }
            if (!n) { print "has one file"; exit }
            s = n " of " n " noticed"
            if (v["noticed"] < n) s = v["noticed"] + 0 " of " n " noticed"
            if (v["harmless"]) s = s ", " v["harmless"] " harmless"
            if (v["wrong"]) s = s ", **" v["wrong"] " with other data**"
            print s
        }' "$RESULTS"
}
