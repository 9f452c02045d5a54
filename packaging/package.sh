# ./dev package: a static binary, a tarball and a Debian package of it, and the proof that they work on a fresh machine.
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of ./dev

MUSL=x86_64-unknown-linux-musl
# The release of Debian that the package is installed on: an old one, since a static binary needs nothing of a new one.
SUITE=bookworm

package() {
    local directory=${1:-$TARGET/package} version name
    [[ $(uname -m) == x86_64 ]] || die "packages are built on x86_64 only (this is $(uname -m))"
    need_tools
    need musl-gcc:musl-tools dpkg-deb:dpkg gzip:gzip man:man-db
    rustup -q target add "$MUSL" >"$WORK/rustup.log" 2>&1 ||
        die "no Rust for $MUSL: $(tail -n 1 "$WORK/rustup.log")" "install it with: rustup target add $MUSL"
    version=$(package_version)
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    # The modes of directories, and of what a shell writes, are those of the package.
    umask 022
    name=penstock-$version-linux-x86_64
    directory=$(realpath -m "$directory")
    mkdir -p "$directory"

    title "A static binary of penstock $version"
    package_build
    title 'Tarball and Debian package'
    package_files "$WORK/files"
    package_tarball "$WORK/files" "$directory/$name.tar.gz" "$name"
    package_deb "$WORK/files" "$directory/penstock_${version}_amd64.deb" "$version"
    (cd "$directory" && sha256sum "$name.tar.gz" "penstock_${version}_amd64.deb" | tee SHA256SUMS)
    title "Installed on a fresh Debian $SUITE"
    package_try "$directory/penstock_${version}_amd64.deb"
    printf '\n  %s%sthe package works%s; it is in %s\n' "$BOLD" "$GREEN" "$PLAIN" "$directory"
}

# The version of the workspace; between releases it sorts before that version, with date and commit.
package_version() {
    local version
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    if [[ -n $(git tag --points-at HEAD "v$version") ]]; then
        printf '%s' "$version"
    else
        printf '%s~%s' "$version" "$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M --format=%cd.%h)"
    fi
}

# Cargo for the static binary. No name of a directory of this machine is left in it, so that two machines build the same.
musl_cargo() {
    local home=${CARGO_HOME:-$HOME/.cargo} library
    # Where the sources of Rust's own library are installed, their names are those of this machine, too.
    library="$(rustc --print sysroot)/lib/rustlib/src/rust=/rustc/$(rustc -vV | sed -n 's/^commit-hash: //p')"
    RUSTFLAGS="--remap-path-prefix=$PWD=/penstock --remap-path-prefix=$home=/cargo --remap-path-prefix=$library" \
        CFLAGS_x86_64_unknown_linux_musl="-ffile-prefix-map=$PWD=/penstock -ffile-prefix-map=$home=/cargo" \
        CARGO_PROFILE_RELEASE_DEBUG=false CARGO_PROFILE_RELEASE_STRIP=symbols \
        cargo "$@" --locked --release --target "$MUSL" --package penstock
}

package_build() {
    say "building (the first time takes several minutes)"
    local quiet=()
    [[ -t 2 ]] || quiet=(--quiet)
    musl_cargo build "${quiet[@]}" --bin penstock --example man
    STATIC="$TARGET/$MUSL/release/penstock"
    # A program interpreter or a library that is looked for at run time would mean that it is not static.
    if LC_ALL=C readelf -lWd "$STATIC" | grep -E 'INTERP|NEEDED'; then die "$STATIC is not static"; fi
    say "$("$STATIC" --version), $(as_count "$(stat -c %s "$STATIC")") bytes, static"
}

# package_files DIRECTORY: everything under the path that it has when it is installed.
package_files() {
    local root=$1 doc="$1/usr/share/doc/penstock" unit
    install -D -m 0755 "$STATIC" "$root/usr/bin/penstock"
    mkdir -p "$root/usr/share/man/man1" "$doc"
    "$TARGET/$MUSL/release/examples/man" "$root/usr/share/man/man1"
    "$STATIC" completions bash | install -D -m 0644 /dev/stdin "$root/usr/share/bash-completion/completions/penstock"
    "$STATIC" completions zsh | install -D -m 0644 /dev/stdin "$root/usr/share/zsh/vendor-completions/_penstock"
    "$STATIC" completions fish | install -D -m 0644 /dev/stdin "$root/usr/share/fish/vendor_completions.d/penstock.fish"
    (cd packaging/systemd && find . -type f) | while read -r unit; do
        install -D -m 0644 "packaging/systemd/$unit" "$root/usr/lib/systemd/system/$unit"
    done
    install -D -m 0640 packaging/penstock.toml "$root/etc/penstock/penstock.toml"
    install -m 0644 README.md "$doc/README"
    install -m 0644 packaging/debian/copyright "$doc/copyright"
    gzip -9n <CHANGELOG.md >"$doc/changelog.gz"
    package_licences | gzip -9n >"$doc/licences.gz"
    gzip -9n "$root"/usr/share/man/man1/*.1
}

# The libraries in the binary: name, version and licence of each, and the licence texts that came with it.
package_licences() {
    local line licence name version home=${CARGO_HOME:-$HOME/.cargo} file
    printf '======== Rust %s and its library: MIT OR Apache-2.0; musl: MIT\n' "$(rustc --version | cut -d ' ' -f 2)"
    for file in "$(rustc --print sysroot)"/share/doc/rust/licenses/{MIT,Apache-2.0}.txt /usr/share/doc/musl/copyright; do
        [[ ! -f $file ]] || { printf '\n-------- %s\n\n' "${file##*/}" && cat "$file"; }
    done
    cargo tree --locked --target "$MUSL" --edges normal --prefix none --format '{p}|{l}' --package penstock |
        sed 's/ (.*)|/|/; s/ (\*)$//' | LC_ALL=C sort -u | grep -v '^penstock' | while IFS='|' read -r line licence; do
        read -r name version <<<"$line"
        printf '\n======== %s %s: %s\n' "$name" "${version#v}" "$licence"
        for file in "$home"/registry/src/*/"$name-${version#v}"/{LICEN[CS]E,COPYING,NOTICE,COPYRIGHT}*; do
            [[ ! -f $file ]] || { printf '\n-------- %s\n\n' "${file##*/}" && cat "$file"; }
        done
    done
}

# package_tar: the same bytes for the same files.
package_tar() {
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu "$@"
}

# package_tarball FILES TARBALL NAME: one directory, with the parts where a person looks for them.
package_tarball() {
    local files=$1 tarball=$2 top="$WORK/$3"
    mkdir -p "$top"/{man,completions,systemd}
    cp "$files/usr/bin/penstock" LICENSE README.md CHANGELOG.md packaging/penstock.toml "$top"
    cp "$files/usr/share/doc/penstock/licences.gz" "$top"
    cp "$files"/usr/share/man/man1/* "$top/man"
    cp "$files"/usr/share/bash-completion/completions/penstock "$top/completions/penstock.bash"
    cp "$files"/usr/share/zsh/vendor-completions/_penstock "$files"/usr/share/fish/vendor_completions.d/penstock.fish "$top/completions"
    cp -r packaging/systemd/. "$top/systemd"
    chmod -R u=rwX,go=rX "$top"
    package_tar -C "$WORK" -cf - "$3" | gzip -9n >"$tarball"
    say "$(as_count "$(stat -c %s "$tarball")") bytes in ${tarball##*/}"
}

# package_deb FILES DEB VERSION
package_deb() {
    local files=$1 deb=$2 control="$1/DEBIAN" script
    mkdir -p "$control"
    sed -e "s/@VERSION@/$3/" -e "s/@SIZE@/$(du -k -s --apparent-size "$files" | cut -f 1)/" packaging/debian/control.in >"$control/control"
    printf '/etc/penstock/penstock.toml\n' >"$control/conffiles"
    (cd "$files" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$control/md5sums"
    chmod 0644 "$control"/*
    for script in postinst prerm postrm; do install -m 0755 "packaging/debian/$script" "$control/$script"; done
    # dpkg-deb takes its times from SOURCE_DATE_EPOCH, but only cuts those that are later: all are set here.
    find "$files" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz --build "$files" "$deb" >/dev/null
    say "$(as_count "$(stat -c %s "$deb")") bytes in ${deb##*/}"
}

# package_root DIRECTORY: a Debian with MariaDB and nothing of ours. It is fetched once and unpacked for each run.
package_root() {
    local mirror tarball="$CACHE/package-$SUITE.tar" part="$CACHE/package-$SUITE.$$.part.tar"
    if [[ ! -f $tarball ]]; then
        need mmdebstrap:mmdebstrap
        mirror=$(debian_mirror)
        [[ -n $mirror ]] || die "no Debian mirror among this machine's apt sources"
        say "fetching Debian $SUITE with MariaDB into $tarball (500 MB)"
        mkdir -p "$CACHE"
        # A mirror may be frozen, so its lists may be past their date.
        as_root mmdebstrap --quiet --variant=apt --include=systemd,systemd-sysv,dbus,mariadb-server "$SUITE" "$part" \
            "deb [check-valid-until=no signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $SUITE main" \
            >"$WORK/mmdebstrap.log" 2>&1 ||
            { tail -n 15 "$WORK/mmdebstrap.log" >&2; rm -f "$part"; die "could not fetch Debian $SUITE"; }
        mv "$part" "$tarball"
    fi
    as_root mkdir "$1"
    as_root tar -C "$1" --numeric-owner --xattrs --xattrs-include='*' -xf "$tarball"
}

# package_try DEB: installs it on a fresh Debian, where systemd runs its units, and purges it again.
package_try() {
    local root="$WORK/root" code=0 log="$WORK/try.log"
    need systemd-nspawn:systemd-container,systemd
    package_root "$root"
    as_root install -D -m 0644 "$1" "$root/root/penstock.deb"
    as_root install -m 0755 packaging/try.sh "$root/root/try.sh"
    as_root tee "$root/etc/systemd/system/penstock-try.service" >/dev/null <<'UNIT'
[Unit]
After=multi-user.target
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/root/try.sh
StandardOutput=file:/root/try.log
StandardError=inherit
[Install]
WantedBy=default.target
UNIT
    as_root ln -s /etc/systemd/system/penstock-try.service "$root/etc/systemd/system/multi-user.target.wants/"
    # Own network and own processes: nothing that is started there is left, or meets a server of this machine.
    as_root timeout --kill-after=30 600 systemd-nspawn --quiet --directory "$root" --register=no --keep-unit --private-network --boot \
        >"$log" 2>&1 </dev/null || code=$?
    if as_root test -f "$root/root/try.log"; then as_root cat "$root/root/try.log"; else tail -n 20 "$log" >&2; fi
    as_root grep -q '^try: done$' "$root/root/try.log" 2>/dev/null || code=1
    as_root rm -rf --one-file-system "$root"
    ((code == 0)) || die "the package does not work on a fresh Debian" "what it printed is above"
}
