#!/usr/bin/env bash
# A shop publishes orders, a warehouse and a billing service receive them as webhooks. Billing fails for a
# while: some webhooks are tried again, some die and are requeued, and in the end all books agree.
#
#   examples/webhook-hub/run.sh
#
# SAGABOX is the binary; unless told, where ./dev build puts it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sagabox=$(realpath "${SAGABOX:-$here/../../build/release/sagabox}")

# The package `standardwebhooks`: that of the tests, or from npm.
export NODE_PATH=${NODE_PATH:-$here/../../tests/outside/node_modules}
(cd "$here" && node -e 'require.resolve("standardwebhooks")' 2>/dev/null) ||
  npm install --prefix "$here" --no-package-lock --no-audit --no-fund --loglevel=error >/dev/null

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

cp "$here/sagabox.yaml" .
"$sagabox" hub key --out hub.key >made # seals the secrets of the endpoints
SAGABOX_LISTEN=127.0.0.1:0 "$sagabox" serve >daemon.log 2>&1 &
processes+=($!)
SAGABOX_SERVER=$(url_in daemon.log)
export SAGABOX_SERVER

# add NAME OPTION…: starts the receiver and has it prove itself. Its secret is said once, here.
add() {
  local name=$1
  NAME=$name PORT=0 node "$here/receiver.cjs" >"$name.log" 2>&1 &
  processes+=($!)
  local url
  url=$(url_in "$name.log")
  "$sagabox" subscription add "$url/hooks" --name "$name" --type 'shop.order.*.v1' "${@:2}" >added
  sed -n 's/^secret //p' added >"$name.secret"
  id=$(sed -n 's/^subscription \([^ ]*\) is .*/\1/p' added)
  "$sagabox" subscription verify "$id" >verified || { cat verified >&2; return 1; }
}

count() { "$sagabox" delivery list --state "$1" --limit 1000 --json | { grep -o '"generation"' || true; } | wc -l; }

# eventually STATE N: waits until there are so many deliveries in that state.
eventually() {
  local found
  for _ in {1..300}; do
    found=$(count "$1")
    [[ $found == "$2" ]] && return
    sleep 0.1
  done
  echo "there should be $2 deliveries that are $1, and there are $found" >&2
  cat daemon.log >&2
  return 1
}

add warehouse
FAILURES=2 add billing --settings '{"filter": {"cents": {"gt": 0}}, "retry": {"waits": ["200ms", "400ms"]}}'
billing=$id
echo "verified   warehouse wants all orders; billing wants no gifts, and gets three attempts"

node "$here/shop.cjs" 1 5
eventually completed 9
echo "delivered  5 to warehouse, 4 to billing"
echo "retried    $(grep -c 'attempt 2: 204' billing.log) to billing, which had answered $(grep -c ': 500' billing.log) times 500"

touch billing.down
node "$here/shop.cjs" 6 8
eventually dead 2
eventually completed 12
echo "delivered  3 to warehouse"
echo "dead       2 to billing, which answered 500 to all attempts:"
"$sagabox" explain "$("$sagabox" delivery list --state dead --limit 1 --json | grep -om1 '"id":"[^"]*' | cut -d'"' -f4)" |
  sed 's/^/           /'

rm billing.down
"$sagabox" delivery requeue --subscription "$billing" --since 1h --yes >requeued
echo "requeued   $(tail -n 1 requeued)"
eventually completed 14
node "$here/books.cjs" shop.jsonl warehouse.jsonl billing.jsonl
