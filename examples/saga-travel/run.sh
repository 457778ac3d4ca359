#!/usr/bin/env bash
# Starts the companies and the daemon, books a trip, shows how it ended, stops everything:
#
#   examples/saga-travel/run.sh [no-car]
#
# SAGABOX is the binary; unless told, where ./dev build puts it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sagabox=$(realpath "${SAGABOX:-$here/../../build/release/sagabox}")
folder=$(mktemp -d)
processes=()
stop_all() {
  kill "${processes[@]}" 2>/dev/null || true
  wait
  rm -rf "$folder"
}
trap stop_all EXIT
cd "$folder"

# The URL that the process started last says it listens on. Each takes a port that is free.
url_in() {
  until grep -som1 'http://127.0.0.1:[0-9]*' "$1"; do
    kill -0 "${processes[-1]}" 2>/dev/null || { cat "$1" >&2; return 1; }
    sleep 0.1
  done
}

[[ "${1:-}" == no-car ]] && export NO_CAR=1
PORT=0 node "$here/companies.cjs" >companies.log 2>&1 &
processes+=($!)
companies=$(url_in companies.log)

cp "$here/sagabox.yaml" .
sed "s|http://127.0.0.1:8711|$companies|g" "$here/travel.yaml" >travel.yaml
SAGABOX_LISTEN=127.0.0.1:0 "$sagabox" serve >daemon.log 2>&1 &
processes+=($!)
SAGABOX_SERVER=$(url_in daemon.log)
export SAGABOX_SERVER

# The same key again would be the same saga.
read -r _ trip < <("$sagabox" saga start travel --key trip-77 --input '{"who": "Ada"}')
"$sagabox" saga show "$trip" --watch >watched.log
"$sagabox" saga show "$trip"
printf '\nwhat the companies were asked:\n'
tail -n +2 companies.log
