# ./dev bench rate: how exactly --max-rate is kept, for each number of workers. A proxy counts the bytes; penstock's own
# figures are not used.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # variables of ./dev and of bench/shared.sh

bench_rate() {
    local flavour=mysql warehouses=10 rates=5,20,80 workers=1,2,4,8,16 transport=unix kind
    options rate 'flavour warehouses rates workers transport' "$@"
    bench_source "$warehouses" tpcc
    {
        printf '# Rate limits, %s, %s\n\n' "$FLAVOUR" "$transport"
        # shellcheck disable=SC2016 # no expansion is meant
        printf 'Bytes to the client, counted at a proxy, in per cent of the limit; `./dev bench rate`.\n\n'
        awk -F '\t' '$1 == "fact" && $2 ~ /^(date|machine|server|penstock|data)$/ { print "- " $2 ": " $3 }' "$RUNS"
        printf -- '- transport: %s\n\n' "$transport"
        testkit rate --penstock "$(command -v penstock)" --socket "$SOURCE_SOCKET" \
            --rates "$rates" --workers "$workers" --transport "$transport" 2>"$WORK/err" ||
            { cat "$WORK/err" >&2; die "a dump failed"; }
    } | tee "$WORK/rate.md"
    kind=$FLAVOUR-$transport
    ((warehouses == 10)) || kind+=-w$warehouses
    new_recording rate "$kind"
    cp "$WORK/rate.md" "$RECORDING.md"
    title "Recorded as $RECORDING.md"
    say "./dev performance puts the newest recordings into docs/performance.md and README.md"
}
