# ./dev bench matrix: everything that a server holds, case by case, and what the tools make of it: the same, named as not the same,
# or another without a word. Equality is what both servers say of themselves (testkit matrix compare).
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_matrix() {
    local flavour=mysql from='' into=mysql,mariadb,mariadb118 columns column
    options matrix 'flavour from into' "$@"
    need_tools
    if [[ -n $from ]]; then
        matrix_versions
        return
    fi
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

# ./dev bench matrix --from mysql55,mysql,mariadb --into …: from each server into each of another version or flavour. Definitions are
# others there, and what is adapted is said; objects by name and the rows that queries give are compared.
matrix_versions() {
    local source target code schema difference verdict name
    build penstock testkit
    export PENSTOCK_STATE="$WORK/state"
    RESULTS="$WORK/results"
    : >"$RESULTS"
    for source in ${from//,/ } ${into//,/ }; do need_flavour "$source"; done
    for source in ${from//,/ }; do
        title "From $source"
        server source "$source"
        testkit matrix fill "$source" --socket "$SOURCE_SOCKET" --skip >"$WORK/not-there"
        testkit matrix list "$source" | grep -vFf <(cut -f 1 "$WORK/not-there"; echo none) >"$WORK/cases"
        say "$(wc -l <"$WORK/cases") cases; $(wc -l <"$WORK/not-there") that this server cannot have"
        rm -rf "$WORK/archive"
        code=0
        penstock dump --quiet --socket "$SOURCE_SOCKET" --user root --schemas 'mx_*' --to "$WORK/archive" >"$WORK/dumped" 2>&1 </dev/null || code=$?
        ((code == 0 || code == 3)) || { cat "$WORK/dumped" >&2; die "the dump ended with code $code"; }
        for target in ${into//,/ }; do
            [[ $target != "$source" ]] || continue
            server target "$target" --server-id=2 --skip-log-bin
            code=0
            penstock load "$WORK/archive" --dry-run --quiet --socket "$TARGET_SOCKET" --user root >"$WORK/foreseen" 2>&1 </dev/null || code=$?
            ((code == 0 || code == 3)) || { cat "$WORK/foreseen" >&2; die "the preview ended with code $code"; }
            code=0
            penstock load "$WORK/archive" --quiet --socket "$TARGET_SOCKET" --user root >"$WORK/said" 2>&1 </dev/null || code=$?
            ((code == 0 || code == 3 || code == 4)) || { cat "$WORK/said" >&2; die "the load ended with code $code"; }
            cat "$WORK/dumped" >>"$WORK/said"
            testkit sql --socket "$TARGET_SOCKET" 'DROP TABLE IF EXISTS mx_01.penstock_load_journal' >"$WORK/out"
            testkit matrix compare "$source" --a "$SOURCE_SOCKET" --b "$TARGET_SOCKET" --rows >"$WORK/compared"
            while IFS=$'\t' read -r schema name; do
                difference=$(awk -F '\t' -v s="$schema" '$1 == s { print $2 }' "$WORK/compared")
                if [[ -z $difference ]]; then verdict=exact
                elif grep -q "[^a-z0-9_]$schema[^0-9]" "$WORK/said"; then verdict=named
                else verdict=wrong; fi
                printf '%s\t%s\t%s\t%s\t%s\n' "$source" "$target" "$verdict" "$name" \
                    "$( ([[ $verdict == named ]] && grep "[^a-z0-9_]$schema[^0-9]" "$WORK/said" || echo "$difference") | head -n 1 | tr '\t\n|' '  /' | cut -c 1-300)" >>"$RESULTS"
            done <"$WORK/cases"
            printf 'adapted\t%s\t%s\t%s\t%s\n' "$source" "$target" "$(matrix_list adapted "$WORK/foreseen")" "$code" >>"$RESULTS"
            awk -F '\t' -v a="$source" -v b="$target" '$1 == a && $2 == b { n[$3]++ } END { s = "· into " b ":"; for (v in n) s = s " " n[v] " " v; print s }' "$RESULTS"
            awk -F '\t' -v a="$source" -v b="$target" '$1 == a && $2 == b && $3 == "wrong" { print "  " $4 ": " $5 }' "$RESULTS"
            server_down target
        done
        server_down source
    done
    new_recording matrix versions
    matrix_versions_text >"$RECORDING.md"
    cat "$RECORDING.md"
    put_recorded_page docs/matrix.md matrix
    title "Recorded as $RECORDING.md"
    ! grep -q $'\twrong\t' "$RESULTS" || die 'something is another, and penstock did not say so'
}

# How many lines a list of a summary has.
matrix_list() {
    awk -v w="$1" '$0 ~ "^  " w "( |:|$)" { on = 1; if ($0 !~ ":$") n++; next } on && /^    - / { n++; next } /^  [a-zA-Z]/ { on = 0 } END { print n + 0 }' "$2"
}

matrix_versions_text() {
    local source target
    printf '# From one version into another\n\n- date: %s\n- penstock: %s, %s\n' "$(date -u +%FT%RZ)" \
        "$(penstock --version)" "$(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
    for source in $(tr ',' '\n' <<<"$from,$into" | sort -u); do
        printf -- '- %s: %s\n' "$source" "$(testkit available "$source" | sed 's/ (\/.*//')"
    done
    printf '\nObjects by name, and the rows that queries give; definitions are others, and each that is adapted is listed by `load --dry-run`.\n\n'
    printf '| from | into | cases | the same | named | another, and nothing is said | adapted definitions |\n|---|---|--:|--:|--:|--:|--:|\n'
    awk -F '\t' '
        $1 == "adapted" { adapted[$2 "\t" $3] = $4; next }
        { k = $1 "\t" $2; if (!(k in n)) order[++m] = k; n[k]++; v[k, $3]++ }
        END {
            for (i = 1; i <= m; i++) {
                k = order[i]; split(k, p, "\t")
                printf "| %s | %s | %d | %d | %d | %d | %d |\n", p[1], p[2], n[k], v[k, "exact"], v[k, "named"], v[k, "wrong"], adapted[k]
            }
        }' "$RESULTS"
    printf '\nNamed, or another:\n\n'
    awk -F '\t' '$3 == "named" || $3 == "wrong" { gsub("`", "\047", $5); sub(/^ *(- )?/, "", $5); printf "- %s into %s, %s: `%s`\n", $1, $2, $4, $5 }' "$RESULTS"
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
