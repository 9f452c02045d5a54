# ./dev bench copy: from server to server, beside a dump and a load one after the other, and the servers' own tools in a pipe.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_copy() {
    local flavour=mysql warehouses=10 runs=3 kind
    options copy 'flavour warehouses runs' "$@"
    bench_source "$warehouses" tpcc
    record fact 'no comparison' 'rows are counted, and not read back, as with the other tools (--verify none)'

    for ((RUN = 1; RUN <= runs; RUN++)); do
        title "Run $RUN of $runs"
        copy_run
    done
    record goal "$GROUP" 'penstock copy' 1.1 'limit: the load of an archive that is there'
    record goal "$GROUP" 'penstock copy' 0.25 "$PIPE"
    kind=$FLAVOUR-tpcc
    [[ $warehouses == 10 ]] || kind+=-w$warehouses
    keep_report copy "$kind"
}

copy_run() {
    local from="mysql://root@localhost/?socket=$SOURCE_SOCKET" to="mysql://root@localhost/?socket=$WORK/target/sock"
    GROUP='server to server, 2 workers' PIPE="${DUMP[-1]##*/} | ${CLIENT[-1]##*/}"
    rm -rf "$WORK/archive"
    best_target
    load_run "$GROUP" 'penstock copy' "$schema" \
        penstock copy "$from" "$to" --no-defaults --schemas "$schema" --threads 2 --verify none
    best_target
    load_run "$GROUP" 'penstock copy, compared' "$schema" \
        penstock copy "$from" "$to" --no-defaults --schemas "$schema" --threads 2
    best_target
    # Tablespaces are not imported where a crash would destroy the server.
    [[ $FLAVOUR == mariadb ]] || testkit sql --socket "$TARGET_SOCKET" 'ALTER INSTANCE ENABLE INNODB REDO_LOG'
    rm -rf "$WORK/via"
    load_run "$GROUP" 'penstock copy --via, compared from files' "$schema" \
        penstock copy "$from" "$to" --no-defaults --schemas "$schema" --threads 2 --via "$WORK/via"
    best_target
    # shellcheck disable=SC2016 # variables of the inner shell
    load_run "$GROUP" 'penstock dump, then load' "$schema" bash -c 'set -e
        penstock dump --quiet --socket "$1" --user root --schemas "$4" --threads 2 --to "$3"
        penstock load "$3" --quiet --socket "$2" --user root --threads 2 --verify none --import-mode sql' \
        _ "$SOURCE_SOCKET" "$TARGET_SOCKET" "$WORK/archive" "$schema"
    best_target
    load_run "$GROUP" 'limit: the load of an archive that is there' "$schema" \
        penstock load "$WORK/archive" "${TO_TARGET[@]}" --verify none --import-mode sql
    best_target
    # shellcheck disable=SC2016 # variables of the inner shell
    load_run "$GROUP" "$PIPE" "$schema" bash -c 'set -o pipefail; n=$1; shift; "${@:1:n}" | "${@:n+1}"' \
        _ $((${#STOCK_DUMP[@]} + 2)) "${STOCK_DUMP[@]}" --databases "$schema" "${CLIENT[@]}" "${TARGET_LOGIN[@]}"
}
