# Sourced by scripts/demo and scripts/test, from the checkout's top folder: installs npm packages when they are not
# those of package-lock.json.

fail() {
  echo "$1" >&2
  exit 1
}

command -v node >/dev/null || fail "OpsMantik needs Node.js 20 or newer: https://nodejs.org"
command -v npm >/dev/null || fail "OpsMantik needs npm 10 or newer, which comes with Node.js: https://nodejs.org"
node_major=$(node -p 'process.versions.node.split(".")[0]')
[ "$node_major" -ge 20 ] || fail "OpsMantik needs Node.js 20 or newer; this is $(node --version)."

# A copy of the lock file, written last: an interrupted installation has none.
lock_stamp=node_modules/.opsmantik-installed-lock.json
if ! cmp -s package-lock.json "$lock_stamp"; then
  echo "Installing npm packages (about a minute)…"
  rm -f "$lock_stamp"
  npm ci --no-audit --no-fund --loglevel=error
  cp package-lock.json "$lock_stamp"
fi
