#!/usr/bin/env bash
# Installs the servers that the tests start. It changes nothing if they are there.
#
# Where it cannot install them it says so and leaves it at that, because the tests then skip and list what they skipped;
# when CI is set it fails.
set -euo pipefail

give_up() {
  echo "install.sh: $1" >&2
  [ -z "${CI:-}" ] && exit 0
  exit 1
}

has() {
  local dir
  for dir in /usr/sbin /usr/lib/postgresql/*/bin ${PATH//:/ }; do
    if [ -x "$dir/$1" ]; then return 0; fi
  done
  return 1
}

packages=()
# need VARIABLE PROGRAM PACKAGE: the package, unless the program is there or the variable names a server to use.
need() {
  if { [ -z "$1" ] || [ -z "${!1:-}" ]; } && ! has "$2"; then packages+=("$3"); fi
}
need FENCEROW_POSTGRES_URL postgres postgresql
need FENCEROW_MARIADB_DSN mariadbd mariadb-server
# The tests of fail-overs and of restores start servers of their own, so these are needed in any case.
need "" etcd etcd-server
need "" etcdctl etcd-client
need "" redis-server redis-server
need "" redis-sentinel redis-sentinel
need "" java default-jre-headless
need "" node nodejs
need "" npm npm
if [ ! -e /usr/share/java/zookeeper.jar ]; then packages+=(zookeeper); fi

# The object store is a Go program that nobody packages. Building it takes minutes, so it is kept.
store_version=v1.8.0
store_dir="${XDG_CACHE_HOME:-$HOME/.cache}/fencerow/bin"
if ! has versitygw && [ ! -x "$store_dir/versitygw" ]; then
  echo "install.sh: building the object store versitygw $store_version, once"
  mkdir -p "$store_dir"
  (cd / && GOFLAGS= GOWORK=off GOBIN="$store_dir" go install "github.com/versity/versitygw/cmd/versitygw@$store_version") ||
    give_up "versitygw could not be built"
fi

# The emulator of DynamoDB is a program for Node, of which a lock file would be all that the repository could keep.
dynalite() {
  local dir="${XDG_CACHE_HOME:-$HOME/.cache}/fencerow/dynalite-4.0.0"
  [ -e "$dir/node_modules/dynalite/cli.js" ] && return
  echo "install.sh: installing dynalite 4.0.0, once"
  mkdir -p "$dir"
  npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --silent dynalite@4.0.0 || give_up "dynalite could not be installed"
}

if [ ${#packages[@]} -eq 0 ]; then
  dynalite
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  give_up "this is not a Debian system: please install what Debian calls ${packages[*]}, so that the programs are in PATH"
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || give_up "please install as root: apt-get install ${packages[*]}"
  as_root=(sudo)
fi

echo "install.sh: installing ${packages[*]}"
# With the timeout a second apt-get waits for its turn; without it it fails at once.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${packages[@]}"
dynalite
