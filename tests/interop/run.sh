#!/usr/bin/env bash
# Real MCP clients and a real MCP server through the gateway: installs the pinned npm tools into this folder, starts
# everything on loopback ports, and ends all of it, also when a check fails or the run is interrupted.
#
#   ./tests/interop/run.sh [flags for go test, for example -run 'TestInterop/sdk']
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

need() {
  command -v "$1" >/dev/null || { echo "interop: $1 is not on the PATH: $2" >&2; exit 3; }
}
need go "install Go, the version in go.mod or newer"
need npm "install Node.js, any version that brings npm"

# install FOLDER NPM-COMMAND...: the packages of its package-lock.json, by their checksums. No install script runs, none
# is needed.
install() {
  local folder=$1
  shift
  if cmp -s "$folder/package-lock.json" "$folder/node_modules/.installed"; then return; fi
  echo "interop: installing the npm packages of tests/interop/$folder"
  (cd "$folder" && npm "$@" --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null)
  cp "$folder/package-lock.json" "$folder/node_modules/.installed"
}

# The Inspector needs Node 22.19. Where the machine's is older, Node comes from npm as well.
new_enough() {
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)' 2>/dev/null
}
if ! new_enough; then
  install node ci
  PATH="$PWD/node/node_modules/.bin:$PATH"
  new_enough || { echo "interop: no npm package of Node for this platform: install Node 22.19 or newer" >&2; exit 3; }
fi
# Not "npm ci": it insists on the optional packages of every platform, also those that a registry does not carry. The lock
# file is followed and left as it is.
install . install --no-save --omit=optional
echo "interop: node $(node --version)"

# A process group of its own: whatever the test starts is in it, and the trap ends all of it.
set -m
COUNTERSIGN_INTEROP=1 go test -count=1 -timeout 10m -v "$@" . </dev/null &
group=$!
set +m
stop() {
  kill -TERM -- "-$group" 2>/dev/null || return 0
  for _ in {1..50}; do
    kill -0 -- "-$group" 2>/dev/null || return 0
    sleep 0.1
  done
  kill -KILL -- "-$group" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
wait "$group"
