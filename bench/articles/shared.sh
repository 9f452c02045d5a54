# What the articles share: a record of what was found, beside what an article published. ./dev article NAME sources
# bench/shared.sh, this file, and bench/articles/NAME.sh, whose function article_NAME does the work.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of ./dev and of each article
# shellcheck source=bench/machine.sh
source bench/machine.sh

# ---------------------------------------------------------------- the command

# ./dev article NAME [--scale N] [--flavour mysql|mariadb] [--record] [--page FILE.html]
article() {
    local name=${1:-} scale=1 page='' recorded=no
    [[ -f bench/articles/$name.sh && $name != shared ]] || die "no article '$name'" "$(article_names)"
    shift
    FLAVOUR=mysql
    while (($#)); do
        case $1 in
        --record) recorded=yes && shift && continue ;;
        --scale) scale=${2:?} ;;
        --flavour) FLAVOUR=${2:?} ;;
        --page) page=${2:?} ;;
        *) die "article $name does not know '$1'" "./dev help" ;;
        esac
        shift 2
    done
    [[ $scale =~ ^[0-9]+$ ]] || die "--scale $scale is no number" "0 is the smallest, 1 the usual one"
    [[ $FLAVOUR == mysql || $FLAVOUR == mariadb ]] || die "no flavour '$FLAVOUR'" "mysql or mariadb"
    SCALE=$scale FOUND="$WORK/found" KIND=$name ARTICLE_BEGAN=$EPOCHSECONDS
    mkdir -p "$FOUND"
    need_tools
    need jq:jq
    build penstock testkit
    machine_load
    found_fact date "$(date -u +%FT%RZ)"
    found_fact machine "$(nproc) cores, $(($(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) / 1048576)) GiB, Linux $(uname -r), load at the start $load"
    found_fact penstock "$(penstock --version), $(git rev-parse --short HEAD 2>/dev/null || echo 'no commit')"
    found_fact scale "$SCALE"
    # shellcheck source=bench/articles/disk.sh
    source "bench/articles/$name.sh"
    "article_$name"
    found_record >"$WORK/found.json"
    found_text >"$WORK/found.md"
    printf '\n'
    cat "$WORK/found.md"
    printf '\n'
    if [[ $recorded == yes ]]; then
        ((SCALE == 1)) || KIND+=-scale$SCALE
        new_recording articles "$KIND"
        cp "$WORK/found.json" "$RECORDING.json"
        cp "$WORK/found.md" "$RECORDING.md"
        say "recorded as $RECORDING.md and $RECORDING.json"
        put_recorded_page docs/articles.md articles
    fi
    page=${page:-$TARGET/articles/$name.html}
    mkdir -p "$(dirname "$page")"
    cp "$WORK/found.json" "${page%.html}.json"
    penstock report --quiet --force --to "$page" "$WORK/found.json" >"$WORK/out"
    say "the page is $page"
}

# For an article that starts servers: those of the flavour that was asked for.
article_servers() {
    need_flavour "$FLAVOUR"
    KIND+=-$FLAVOUR
    found_fact server "$(testkit available "$FLAVOUR" | sed 's/ (\/.*//')"
}

# All of them, one after the other, and one page.
articles() {
    local name page=$TARGET/articles/index.html options=() records=() failed=()
    while (($#)); do
        case $1 in
        --page) page=${2:?a file} && shift ;;
        *) options+=("$1") ;;
        esac
        shift
    done
    for name in $(article_names); do
        # Each in a process of its own: it ends what it started.
        if ./dev article "$name" "${options[@]}" --page "$TARGET/articles/$name.html"; then
            records+=("$TARGET/articles/$name.json")
        else
            failed+=("$name")
        fi
    done
    ((${#records[@]})) || die "no article could be run"
    need_tools
    penstock report --quiet --force --to "$page" "${records[@]}" >"$WORK/out"
    title "All in one page: $page"
    ((${#failed[@]} == 0)) || die "articles that failed: ${failed[*]}"
}

article_names() {
    local file
    for file in bench/articles/*.sh; do
        file=${file##*/}
        [[ $file == shared.sh ]] || printf '%s ' "${file%.sh}"
    done
}

# ---------------------------------------------------------------- what was found

# found_title TEXT, found_fact NAME VALUE, found_setting NAME VALUE, found_sentence TEXT: one each.
found_title() { printf '%s' "$1" >"$FOUND/title"; }
found_fact() { found facts "$@"; }
found_setting() { found settings "$@"; }
found_sentence() { found story "$@"; }
# found_row WHAT PUBLISHED HERE [NOTE]: a row of the table. What this machine lacks has a row too: found_lacks WHAT PUBLISHED WHY.
found_row() {
    found rows "$1" "$2" "$3" "${4:-}"
    say "$(printf '%-44s %18s   %s' "$1" "$2" "$3${4:+ ($4)}")"
}
found_lacks() { found_row "$1" "$2" 'not here' "$3"; }
# found_bar CHART UNIT BETTER LABEL RUN…: a bar of a chart, the median of its runs.
found_bar() {
    local chart=$1 unit=$2 better=$3 label=$4
    shift 4
    found bars "$chart" "$unit" "$better" "$label" "$*"
}
# found_point CHART UNIT LINE X Y, found_limit CHART LABEL Y: a chart over time.
found_point() { found points "$@"; }
found_limit() { found limits "$@"; }
# found_sections FILE: sections of a record of penstock.
found_sections() { jq -c '.sections[]?' "$1" >>"$FOUND/sections"; }
found() {
    local list=$1
    shift
    (IFS=$'\t'; printf '%s\n' "$*" >>"$FOUND/$list")
}

# Everything as a record, which penstock report makes a page of.
found_record() {
    local list
    for list in facts settings story rows bars points limits sections; do touch "$FOUND/$list"; done
    jq -n --arg title "$(<"$FOUND/title")" --arg version "$(penstock --version | sed 's/^penstock //')" --arg began "$(date -u -d "@$ARTICLE_BEGAN" +%FT%TZ)" \
        --arg ended "$(date -u +%FT%TZ)" --argjson seconds "$((EPOCHSECONDS - ARTICLE_BEGAN))" \
        --rawfile facts "$FOUND/facts" --rawfile settings "$FOUND/settings" --rawfile story "$FOUND/story" --rawfile rows "$FOUND/rows" \
        --rawfile bars "$FOUND/bars" --rawfile points "$FOUND/points" --rawfile limits "$FOUND/limits" --slurpfile sections "$FOUND/sections" '
        def lines: split("\n") | map(select(. != "") | split("\t"));
        # In the order in which they came first.
        def by(f): reduce .[] as $x ([]; ($x | f) as $k | if any(.[]; .key == $k) then map(if .key == $k then .all += [$x] else . end) else . + [{key: $k, all: [$x]}] end);
        def median: sort | if length % 2 == 1 then .[length / 2 | floor] else (.[length / 2 - 1] + .[length / 2]) / 2 end;
        ($limits | lines) as $limits
        | {
            format: "penstock-record", version: 1, kind: "article", title: $title, penstock: $version, begin: $began, end: $ended, seconds: $seconds,
            outcome: {state: "complete"}, story: ($story | lines | map(.[0])),
            facts: ($facts | lines | map([.[0], .[1]])), settings: ($settings | lines | map([.[0], .[1]])),
            sections: ([
                {
                    title: "Published, and here",
                    text: ["What is published was measured on another machine, years ago; the two columns are no comparison of machines."],
                    tables: [{columns: [{name: ""}, {name: "published"}, {name: "here"}, {name: ""}], rows: ($rows | lines | map([.[0], .[1], (.[2] | gsub(" "; "\u00a0")), (.[3] // "")]))}],
                    bars: ($bars | lines | by(.[0]) | map({
                        title: .key, unit: .all[0][1], better: .all[0][2], median: true,
                        items: (.all | map((.[4] | split(" ") | map(tonumber)) as $runs
                            | {"label": .[3], mean: ($runs | median), low: ($runs | min), high: ($runs | max), n: ($runs | length), runs: $runs}))
                    }))
                }
            ] + ($points | lines | by(.[0]) | map(.key as $chart | {
                title: $chart,
                timelines: [{charts: [{
                    title: $chart, unit: .all[0][1],
                    series: (.all | by(.[2]) | map({name: .key, points: (.all | map([(.[3] | tonumber), (.[4] | tonumber)]))})),
                    limits: ($limits | map(select(.[0] == $chart) | {"label": .[1], value: (.[2] | tonumber)}))
                }]}]
            })) + $sections)
        }'
}

# The same as text, for a terminal and a page of documentation.
found_text() {
    printf '# %s\n\n' "$(<"$FOUND/title")"
    awk -F '\t' '{ print "- " $1 ": " $2 }' "$FOUND/facts"
    printf '\n| | published | here | |\n|---|--:|--:|---|\n'
    awk -F '\t' '{ print "| " $1 " | " $2 " | " $3 " | " $4 " |" }' "$FOUND/rows"
    printf '\n'
    cat "$FOUND/story"
}

# ---------------------------------------------------------------- a second host

# A second host: a network namespace with one link to this one. Sets HOST_NAMESPACE and its addresses; false where this machine
# cannot do that, with the reason in LACKING.
second_host() {
    HOST_NAMESPACE=penstock-$$ FIRST_ADDRESS='' LACKING=''
    local link=pen$$a peer=pen$$b net
    need ip:iproute2
    # Networks that are for examples; this machine may use one all the same.
    for net in 198.51.100 203.0.113 192.0.2 198.18.77; do
        ip -o addr | grep -qF " $net." || { FIRST_ADDRESS=$net.1 SECOND_ADDRESS=$net.2 && break; }
    done
    if [[ -z $FIRST_ADDRESS ]]; then
        LACKING='a free network for a second host'
        return 1
    fi
    if ((EUID != 0)); then
        LACKING='a second host is a network namespace, which only root makes'
        return 1
    fi
    if ! ip netns add "$HOST_NAMESPACE" 2>"$WORK/out"; then
        LACKING="a network namespace: $(tail -n 1 "$WORK/out")"
        return 1
    fi
    at_end ip netns del "$HOST_NAMESPACE"
    if ! ip link add "$link" type veth peer name "$peer" netns "$HOST_NAMESPACE" 2>"$WORK/out"; then
        LACKING="a link between network namespaces: $(tail -n 1 "$WORK/out")"
        return 1
    fi
    ip addr add "$FIRST_ADDRESS/24" dev "$link"
    ip link set "$link" up
    ip netns exec "$HOST_NAMESPACE" ip addr add "$SECOND_ADDRESS/24" dev "$peer"
    ip netns exec "$HOST_NAMESPACE" ip link set "$peer" up
    ip netns exec "$HOST_NAMESPACE" ip link set lo up
    HOST_LINK=$link
}

# An ssh server on the second host, for this user, with keys of its own; its link carries so many bits a second if the kernel can do that:
# second_host_ssh RATE. Sets SSH (the client's command without a host), SSH_HOST, SSH_PORT, and PENSTOCK_SSH; false with LACKING.
second_host_ssh() {
    local keys="$WORK/ssh-keys"
    LACKING='' SSH_PORT=2222 SSH_HOST=$SECOND_ADDRESS
    need sshd:openssh-server ssh:openssh-client
    mkdir -p "$keys" /run/sshd
    chmod 700 "$keys"
    ssh-keygen -q -t ed25519 -N '' -f "$keys/host"
    ssh-keygen -q -t ed25519 -N '' -f "$keys/user"
    cp "$keys/user.pub" "$keys/authorized"
    printf '[%s]:%s %s\n' "$SSH_HOST" "$SSH_PORT" "$(cut -d ' ' -f 1,2 "$keys/host.pub")" >"$keys/known"
    printf '%s\n' "Port $SSH_PORT" "ListenAddress $SSH_HOST" "HostKey $keys/host" "AuthorizedKeysFile $keys/authorized" 'PidFile none' 'StrictModes no' \
        'UsePAM no' 'PasswordAuthentication no' 'PermitRootLogin yes' 'Subsystem sftp internal-sftp' >"$keys/sshd.conf"
    ip netns exec "$HOST_NAMESPACE" "$(command -v sshd)" -D -f "$keys/sshd.conf" -E "$keys/log" &
    BACKGROUND+=("$!")
    SSH=(ssh -F none -i "$keys/user" -o "UserKnownHostsFile=$keys/known" -o BatchMode=yes -p "$SSH_PORT")
    export PENSTOCK_SSH="ssh -F none -i $keys/user -oUserKnownHostsFile=$keys/known"
    SSH_USER=$(id -un)
    local n
    for ((n = 0; n < 50; n++)); do
        "${SSH[@]}" "$SSH_USER@$SSH_HOST" true 2>"$WORK/out" && break
        sleep 0.1
    done
    ((n < 50)) || { LACKING="an ssh server on the second host: $(tail -n 1 "$WORK/out")"; return 1; }
    if [[ -n ${1:-} ]] && ! { have tc && tc qdisc add dev "$HOST_LINK" root tbf rate "$1" burst 1mb latency 50ms 2>"$WORK/out"; }; then
        found_lacks "a link of $1" '-' "the kernel does not shape traffic: $(tail -n 1 "$WORK/out")"
    fi
}
