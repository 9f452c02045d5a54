# ./dev bench matrix: everything that a server holds, case by case, and what the tools make of it: the same, named as not the same,
# or another without a word. Equality is what both servers say of themselves (testkit matrix compare).
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_matrix() {
    local flavour=mysql load columns column
    options matrix 'flavour' "$@"
    need_tools
    [[ -n ${MYDUMPER:-} ]] || have mydumper || (install_packages mydumper) || true
    need_flavour "$FLAVOUR"
    build penstock testkit
    export PENSTOCK_STATE="$WORK/state"
    RESULTS="$WORK/results"
    : >"$RESULTS"
    MYDUMPER=${MYDUMPER:-$(command -v mydumper || true)}
    MYLOADER=${MYLOADER:-$(command -v myloader || true)}
    mapfile -t CLIENT < <(testkit client "$FLAVOUR" client)
    mapfile -t DUMP < <(testkit client "$FLAVOUR" dump)
    server source "$FLAVOUR"
    testkit matrix fill "$FLAVOUR" --socket "$SOURCE_SOCKET"
    testkit matrix list "$FLAVOUR" >"$WORK/cases"
    say "$(wc -l <"$WORK/cases") cases"
    columns=('penstock' 'penstock, tablespaces' "${DUMP[-1]##*/}")
    [[ -z $MYDUMPER ]] || columns+=(mydumper)
    for column in "${columns[@]}"; do
        title "$column"
        server target "$FLAVOUR" --server-id=2 --skip-log-bin
        case $column in
        penstock*) matrix_penstock "$column" ;;
        *) matrix_each "$column" ;;
        esac
        server_down target
        awk -F '\t' -v c="$column" '$1 == c { n[$3]++ } END { for (v in n) print "· " n[v] " " v }' "$RESULTS"
    done
    new_recording matrix "$FLAVOUR"
    matrix_text >"$RECORDING.md"
    cat "$RECORDING.md"
    put_recorded_page docs/matrix.md matrix
    title "Recorded as $RECORDING.md"
    ! grep -q $'^penstock.*\twrong' "$RESULTS" || die 'penstock made another copy of a case, and did not say so'
}

# All cases with one dump and one load.
matrix_penstock() {
    local mode=sql code=0 schema difference
    [[ $1 != *tablespaces ]] || mode=tablespace
    rm -rf "$WORK/archive"
    penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas 'mx_*' --to "$WORK/archive" >"$WORK/said" 2>&1 </dev/null || code=$?
    ((code == 0 || code == 3)) || { cat "$WORK/said" >&2; die "the dump ended with code $code"; }
    code=0
    penstock load "$WORK/archive" --quiet --socket "$TARGET_SOCKET" --user root --import-mode "$mode" >>"$WORK/said" 2>&1 </dev/null || code=$?
    ((code == 0 || code == 3)) || { cat "$WORK/said" >&2; die "the load ended with code $code"; }
    # A table whose rows were refused keeps the journal there, for --resume.
    testkit sql --socket "$TARGET_SOCKET" 'DROP TABLE IF EXISTS mx_01.penstock_load_journal' >"$WORK/out"
    testkit matrix compare "$FLAVOUR" --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" >"$WORK/compared"
    while IFS=$'\t' read -r schema difference; do
        if [[ -z $difference ]]; then
            matrix_is "$1" "$schema" exact
        elif grep -q "[^a-z0-9_]$schema[^0-9]" "$WORK/said"; then
            matrix_is "$1" "$schema" named "$(grep "[^a-z0-9_]$schema[^0-9]" "$WORK/said" | head -n 1 | sed 's/^ *[a-z ]*  //')"
        else
            matrix_is "$1" "$schema" wrong "$difference"
        fi
    done <"$WORK/compared"
}

# Each case by itself: a tool that fails with one may manage the others.
matrix_each() {
    local schema name difference code
    while IFS=$'\t' read -r schema name; do
        rm -rf "$WORK/dump"
        code=0
        matrix_dump "$1" "$schema" || code=$?
        ((code)) || matrix_load "$1" || code=$?
        if ((code)); then
            matrix_is "$1" "$schema" fails "$(grep -v '^ *$' "$WORK/said" | tail -n 1)"
            continue
        fi
        difference=$(testkit matrix compare "$FLAVOUR" --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --schema "$schema" | cut -f 2)
        if [[ -n $difference ]]; then matrix_is "$1" "$schema" wrong "$difference"; else matrix_is "$1" "$schema" exact; fi
    done <"$WORK/cases"
}

matrix_dump() {
    local more=(--routines --triggers --events --single-transaction)
    case $1 in
    mydumper)
        # Version 0.10 reads other columns than those of routines from a new MySQL.
        more=(--triggers)
        [[ $FLAVOUR == mysql ]] || more+=(--routines --events)
        "$MYDUMPER" --socket "$SOURCE_SOCKET" --user root --database "$2" --outputdir "$WORK/dump" "${more[@]}" >"$WORK/said" 2>&1 </dev/null
        ;;
    *)
        [[ $FLAVOUR == mariadb ]] || more+=(--set-gtid-purged=OFF)
        "${DUMP[@]}" --no-defaults --user=root --socket="$SOURCE_SOCKET" "${more[@]}" --databases "$2" >"$WORK/dump" 2>"$WORK/said" </dev/null
        ;;
    esac
}

matrix_load() {
    case $1 in
    mydumper) timeout 120 "$MYLOADER" --socket "$TARGET_SOCKET" --user root --directory "$WORK/dump" >"$WORK/said" 2>&1 </dev/null ;;
    *) timeout 120 "${CLIENT[@]}" --no-defaults --user=root --socket="$TARGET_SOCKET" <"$WORK/dump" >"$WORK/said" 2>&1 ;;
    esac
}

# matrix_is COLUMN SCHEMA VERDICT [WHY]
matrix_is() {
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$(tr '\t\n|' '  /' <<<"${4:-}" | cut -c 1-300)" >>"$RESULTS"
    [[ $3 != wrong ]] || say "$1, $2: $4"
}

matrix_text() {
    local schema name column verdict why words
    printf '# What arrives, %s\n\n' "$FLAVOUR"
    printf -- '- date: %s\n- server: %s\n- penstock: %s, %s\n- %s\n' "$(date -u +%FT%RZ)" "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//')" \
        "$(penstock --version)" "$(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')" "$("${DUMP[@]}" --version | sed 's/^.*\/\([^/]*  *Ver\)/\1/; s/ *$//')"
    [[ -z $MYDUMPER ]] || printf -- '- %s\n' "$("$MYDUMPER" --version 2>&1 | head -n 1)"
    printf '\n| case |'
    for column in "${columns[@]}"; do printf ' %s |' "$column"; done
    printf '\n|---|'
    for column in "${columns[@]}"; do printf -- '---|'; done
    printf '\n'
    while IFS=$'\t' read -r schema name; do
        printf '| %s |' "$name"
        for column in "${columns[@]}"; do
            verdict=$(awk -F '\t' -v c="$column" -v s="$schema" '$1 == c && $2 == s { print $3 }' "$RESULTS")
            case $verdict in
            exact) words='the same' ;;
            wrong) words='**another, and nothing is said**' ;;
            *) words=$verdict ;;
            esac
            printf ' %s |' "$words"
        done
        printf '\n'
    done <"$WORK/cases"
    printf '| **all** |'
    for column in "${columns[@]}"; do
        printf ' %s |' "$(awk -F '\t' -v c="$column" '
            $1 == c { n++; v[$3]++ }
            END {
                s = v["exact"] + 0 " of " n " the same"
                if (v["named"]) s = s ", " v["named"] " named"
                if (v["fails"]) s = s ", " v["fails"] " fail"
                if (v["wrong"]) s = s ", **" v["wrong"] " another**"
                print s
            }' "$RESULTS")"
    done
    printf '\n'
    # Keeps the order of the columns.
    for column in "${columns[@]}"; do
        for verdict in named fails wrong; do
            grep -qF "$column"$'\t' <(awk -F '\t' -v v="$verdict" '$3 == v' "$RESULTS" | grep "^$column"$'\t') || continue
            case $verdict in
            named) printf '\n%s names:\n\n' "$column" ;;
            fails) printf '\n%s fails:\n\n' "$column" ;;
            wrong) printf '\nAnother copy by %s, after code 0:\n\n' "$column" ;;
            esac
            while IFS=$'\t' read -r _ schema _ why; do
                name=$(awk -F '\t' -v s="$schema" '$1 == s { print $2 }' "$WORK/cases")
                # Angle brackets and stars would be read as marks.
                # shellcheck disable=SC2016 # backticks of the text
                printf -- '- %s: `%s`\n' "$name" "$(tr '`' "'" <<<"$why")"
            done < <(awk -F '\t' -v c="$column" -v v="$verdict" '$1 == c && $3 == v' "$RESULTS")
        done
    done
}
