#!/usr/bin/env bash
# Installs what the tests need, then runs all of them and stops at the first step that fails.
#
#   ./test.sh                 all steps, in this order
#   ./test.sh format tests    only these
#
# Needs: Debian 12 or later, Rust (rustup), gcc and g++. Debian packages are installed as root or
# through sudo, npm packages inside web/; nothing else outside target/ is touched.
set -euo pipefail
cd "$(dirname "$0")"

readonly STEPS=(
  install format lints docs packages advisories tests python namespaces kernel web fuzz
)
# The second kernel's tests wait for timers more than they compute: where `web` is asked for too,
# they run beside it, and what they say goes here first.
readonly KERNEL_LOG=target/kernel.log
readonly FUZZ_SECONDS=10
# Where Debian keeps what administrators run, not on everyone's path.
export PATH=$PATH:/usr/sbin:/sbin

# A program the tests call, or another file that they need, and the Debian package it comes from.
readonly PROGRAMS=(
  # Other opinions on packets and streams.
  tshark:tshark ffmpeg:ffmpeg openssl:openssl
  python3:python3 /usr/lib/python3/dist-packages/cryptography:python3-cryptography
  # Another stack as our peer.
  /usr/include/usrsctp.h:libusrsctp-dev cc:gcc
  # The page: built, and shown.
  node:nodejs npm:npm chromium:chromium
)

# The same for the step `python`.
readonly PYTHON_PROGRAMS=(python3:python3 /usr/share/doc/python3-venv:python3-venv)

# The same for the step `namespaces`: links between hosts of this machine.
readonly NAMESPACE_PROGRAMS=(
  ip:iproute2 nsenter:util-linux setpriv:util-linux unshare:util-linux
)

# The same for the step `kernel`: further kernels, and what goes on in them.
readonly KERNEL_PROGRAMS=(
  linux.uml:user-mode-linux modprobe:kmod ip:iproute2 ethtool:ethtool /usr/bin/python3:python3
  qemu-system-x86_64:qemu-system-x86
)
# A stock kernel goes here, unpacked. Installed, it would be what this machine boots next.
readonly STOCK_KERNEL=target/stock-kernel

install() {
  install_missing "${PROGRAMS[@]}"
}

install_missing() {
  local entry missing=()
  for entry in "$@"; do
    command -v "${entry%%:*}" >/dev/null || [ -e "${entry%%:*}" ] || missing+=("${entry##*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null ||
    die "missing programs; this script can install them on Debian only: ${missing[*]}"
  echo "Installing from Debian: ${missing[*]}"
  as_root apt-get -qq update
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --yes --no-install-recommends "${missing[@]}" >/dev/null
}

format() {
  cargo fmt --all --check
}

lints() {
  cargo clippy --locked --workspace --all-targets -- -D warnings
  # Without the feature that others of the workspace switch on.
  cargo clippy --locked -p anabranch-media -p anabranch-netsim -- -D warnings
}

docs() {
  RUSTDOCFLAGS='-D warnings' cargo doc --locked --workspace --no-deps --document-private-items
}

# What `cargo publish` would upload, short of the network and of building each once more. Which
# packages stay here is for crates/tidy to say.
packages() {
  cargo package --locked --offline --quiet --workspace --allow-dirty --no-verify \
    --exclude=anabranch-{bench,interop,load,peers,python,tidy}
  du -h target/package/*.crate
}

# Packages that somebody has reported a weakness of, or that are no longer kept (deny.toml). Their
# licences, sources and versions need no network: crates/tidy holds them.
advisories() {
  local lacking
  lacking=$(advisories_lack)
  if [ -n "$lacking" ]; then
    echo "LEFT OUT: the step 'advisories' needs $lacking."
    return
  fi
  cargo deny --locked check advisories
  cargo deny --manifest-path fuzz/Cargo.toml --config "$PWD/deny.toml" --locked check advisories
}

# What keeps the step `advisories` from running here, if anything. Where the database can be
# reached, CI installs what it needs.
advisories_lack() {
  if ! git ls-remote -q https://github.com/rustsec/advisory-db HEAD >/dev/null 2>&1; then
    echo 'the database of advisories, which cannot be reached (github.com/rustsec)'
  elif ! cargo deny --version >/dev/null 2>&1; then
    if [ -z "${CI:-}" ] || ! cargo install --locked cargo-deny >&2; then
      echo 'cargo-deny (cargo install --locked cargo-deny)'
    fi
  fi
}

# Unit, integration and documentation tests, the repository's own rules (crates/tidy) among them.
tests() {
  install
  cargo test --locked --workspace --no-fail-fast 2>&1 | tee target/test.log
}

# The package for Python: built as a wheel, installed into a fresh virtual environment up to the
# first plot, then tested there, types and notebooks included.
python() {
  install_missing "${PYTHON_PROGRAMS[@]}"
  local builder=target/python/builder fresh=target/python/fresh wheels=target/python/wheels wheel
  local start
  rm -rf "$fresh" "$wheels"
  python3 -m venv "$builder"
  pip_install "$builder" 'maturin>=1.9.4,<2'
  # Unoptimized as the other tests' builds, some of which it takes.
  "$builder/bin/maturin" build --locked --quiet --profile dev --strip --out "$wheels" \
    --manifest-path crates/python/Cargo.toml
  wheel=$(echo "$wheels"/*.whl)
  start=$SECONDS
  python3 -m venv "$fresh"
  pip_install "$fresh" "$wheel[plot]"
  (cd target/python && fresh/bin/python ../../crates/python/examples/first_plot.py)
  echo "$wheel: $((SECONDS - start)) s from an empty environment to the first plot"
  du -h target/python/first.svg
  pip_install "$fresh" "$wheel[test]"
  (cd crates/python && "../../$fresh/bin/python" -m pytest -q -p no:cacheprovider)
}

# What is imported gets compiled then; the rest of these packages would take longer.
pip_install() {
  "$1/bin/pip" --quiet --disable-pip-version-check install --no-compile "${@:2}"
}

# `send` and `recv`, `serve` and `watch`, and calls, on two hosts whose links go down: network
# namespaces of this machine.
namespaces() {
  local lacking
  lacking=$(namespaces_lack)
  if [ -n "$lacking" ]; then
    echo "LEFT OUT: the step 'namespaces' needs $lacking."
    return
  fi
  install_missing "${NAMESPACE_PROGRAMS[@]}"
  ANABRANCH_NAMESPACE_TESTS=1 cargo test --locked --workspace --test namespaces
}

# What keeps the step `namespaces` from running here, if anything.
namespaces_lack() {
  if ! unshare --net true 2>/dev/null && ! unshare --user --net true 2>/dev/null; then
    echo 'root or user namespaces'
  fi
}

# The Linux kernel's SCTP and DCCP as our peers: kernels as processes (crates/interop).
kernel() {
  local lacking
  lacking=$(kernel_lacks)
  if [ -n "$lacking" ]; then
    echo "LEFT OUT: the step 'kernel' needs $lacking."
    return
  fi
  install
  install_kernels
  ANABRANCH_KERNEL_TESTS=1 ANABRANCH_STOCK_KERNEL=$PWD/$STOCK_KERNEL \
    cargo test --locked --workspace --test kernel
}

install_kernels() {
  install_missing "${KERNEL_PROGRAMS[@]}"
  [ ! -e "$STOCK_KERNEL" ] || return 0
  command -v apt-get >/dev/null || die 'this script can bring a stock kernel on Debian only'
  local package new=$STOCK_KERNEL.new
  as_root apt-get -qq update
  package=$(apt-cache depends linux-image-cloud-amd64 | sed -n '0,/Depends: linux-image/s/.*: //p')
  [ -n "$package" ] || die 'Debian has no linux-image-cloud-amd64 here'
  rm -rf "$new"
  mkdir -p "$new"
  # The user that apt-get would become may not write here.
  (cd "$new" && apt-get -qq -o APT::Sandbox::User=root download "$package")
  dpkg-deb -x "$new"/*.deb "$new"
  rm "$new"/*.deb
  mv "$new" "$STOCK_KERNEL"
}

# What keeps the step `kernel` from running here, if anything.
kernel_lacks() {
  if [ "$(uname -m)" != x86_64 ]; then
    echo 'an x86-64 machine, for which Debian has user-mode Linux'
  elif [ ! -w /dev/net/tun ]; then
    echo '/dev/net/tun'
  else
    namespaces_lack
  fi
}

# The page: types, lints and unit tests; then built anew, to equal what is committed; then in a
# browser, served by a mock and by the program.
web() {
  install
  npm --prefix web ci --no-fund --no-audit
  npm --prefix web run check
  npm --prefix web run build
  git diff --exit-code --stat -- web/dist || die "web/dist is not what its sources build: commit it"
  npm --prefix web run e2e
  # Built with the tests' features: what the step `tests` compiled serves here, too.
  cargo test --locked --workspace --test namespaces --no-run
  cargo build --locked --workspace --example echo
  npm --prefix web run e2e:program
}

# Each fuzz target for a few seconds, starting from its committed corpus. The flags are those of
# cargo-fuzz less the address sanitizer: coverage works on stable Rust, and there is no unsafe code.
fuzz() {
  local triple
  triple=$(rustc -vV | sed -n 's/^host: //p')
  RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --locked --release --target "$triple" --manifest-path fuzz/Cargo.toml \
    --target-dir target/fuzz
  find fuzz/fuzz_targets -name '*.rs' -printf '%f\n' | sort |
    xargs -P "$(nproc)" -I{} "$0" fuzz-one "target/fuzz/$triple/release" {}
}

# One target, quiet unless it fails.
fuzz_one() {
  local target=${2%.rs}
  local found=target/fuzz/found/$target artifacts=fuzz/artifacts/$target log=target/fuzz/$target.log
  mkdir -p "$found" "$artifacts"
  if ! "$1/$target" -max_total_time="$FUZZ_SECONDS" -timeout=30 -rss_limit_mb=2048 \
    -artifact_prefix="$artifacts/" "$found" "fuzz/corpus/$target" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log"
    echo "$target failed: the input is in $artifacts/"
    return 1
  fi
  echo "$target: $(grep -o 'Done [0-9]* runs' "$log" || tail -n 1 "$log")"
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "neither root nor sudo to run: $*"
  fi
}

die() {
  echo "test.sh: $*" >&2
  exit 1
}

# In a shell of its own, so that `set -e` holds inside it.
run_step() {
  local start=$SECONDS status=0
  printf '\n== %s\n' "$1"
  set +e
  (set -e; "$1")
  status=$?
  set -e
  if [ "$status" != 0 ]; then
    warn_of_full_disk
    die "the step '$1' failed after $((SECONDS - start)) s; again: ./test.sh $1"
  fi
  printf -- '-- %s: %d s\n' "$1" "$((SECONDS - start))"
}

# A linker on a full disk dies of a bus error, which tells nobody why.
warn_of_full_disk() {
  local free_mib
  free_mib=$(df --output=avail -m . | tail -n 1)
  [ "$free_mib" -gt 1024 ] ||
    echo "test.sh: the disk is full or nearly so: $((free_mib)) MiB are free under $PWD" >&2
}

# The steps `kernel` and `web` at once.
web_beside_kernel() {
  # Before they run at once: apt-get runs once at a time.
  install
  [ -n "$(kernel_lacks)" ] || install_kernels
  printf "\n== kernel, beside web: what it says is in %s meanwhile\n" "$KERNEL_LOG"
  # In a process group of its own, with which it is ended.
  set -m
  run_step kernel >"$KERNEL_LOG" 2>&1 </dev/null &
  set +m
  local kernel=$! status=0
  # shellcheck disable=SC2064
  trap "kill -- -$kernel 2>/dev/null" EXIT
  run_step web
  wait "$kernel" || status=$?
  trap - EXIT
  cat "$KERNEL_LOG"
  [ "$status" = 0 ] || exit "$status"
}

# The sum over the lines that `cargo test` closes each binary with.
summary() {
  awk '/^test result:/ { passed += $4; failed += $6 }
    END { printf "%d passed, %d failed\n", passed, failed }' target/test.log
}

main() {
  if [ "${1:-}" = fuzz-one ]; then
    fuzz_one "$2" "$3"
    return
  fi
  local step steps=("$@") known=" ${STEPS[*]} "
  [ ${#steps[@]} -gt 0 ] || steps=("${STEPS[@]}")
  for step in "${steps[@]}"; do
    [[ $known == *" $step "* ]] || die "no step '$step'; there are: ${STEPS[*]}"
  done
  mkdir -p target
  for step in "${steps[@]}"; do
    if [[ $step = kernel && " ${steps[*]} " == *' web '* ]]; then
      continue
    elif [[ $step = web && " ${steps[*]} " == *' kernel '* ]]; then
      web_beside_kernel
    else
      run_step "$step"
    fi
  done
  printf '\nAll steps passed in %d s.\n' "$SECONDS"
  [[ " ${steps[*]} " != *' tests '* ]] || summary
  tell_left_out advisories "$(advisories_lack)" "${steps[@]}"
  tell_left_out namespaces "$(namespaces_lack)" "${steps[@]}"
  tell_left_out kernel "$(kernel_lacks)" "${steps[@]}"
}

# Says at the very end, where nobody overlooks it, that a step of these was left out for a lack.
tell_left_out() {
  local step=$1 lacking=$2
  shift 2
  [[ " $* " != *" $step "* || -z $lacking ]] ||
    echo "LEFT OUT: the step '$step', for lack of $lacking."
}

main "$@"
