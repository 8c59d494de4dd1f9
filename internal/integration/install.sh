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

has_postgres() {
  local dir
  for dir in /usr/lib/postgresql/*/bin ${PATH//:/ }; do
    if [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ]; then return 0; fi
  done
  return 1
}

packages=()
if [ -z "${FENCEROW_POSTGRES_URL:-}" ] && ! has_postgres; then
  packages+=(postgresql)
fi
[ ${#packages[@]} -eq 0 ] && exit 0

if ! command -v apt-get >/dev/null; then
  give_up "this is not a Debian system: please install PostgreSQL 13 or later (initdb and postgres in PATH), or set FENCEROW_POSTGRES_URL to the URL of a running server"
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
