#!/bin/sh
# bisect.sh GOOD BAD COMMAND…: the first commit at which COMMAND fails, found in a copy of this repository.
# Prints `first bad commit: HASH SUBJECT`. Exit code 0 if it was found, 2 if an end is not as it was said to be.
set -u
if [ $# -lt 3 ]; then
    echo "usage: bisect.sh GOOD BAD COMMAND…" >&2
    exit 2
fi
good=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "no such commit: $1" >&2; exit 2; }
bad=$(git rev-parse --verify --quiet "$2^{commit}") || { echo "no such commit: $2" >&2; exit 2; }
shift 2
top=$(git rev-parse --show-toplevel)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git clone --quiet --shared --no-checkout "$top" "$copy/repo" || exit 2
cd "$copy/repo" || exit 2
git fetch --quiet "$top" "$good" "$bad" 2>/dev/null
at() {
    git -c advice.detachedHead=false checkout --quiet --force "$1" && git clean -qfd
}
at "$good" || exit 2
if ! "$@" >"$copy/good" 2>&1; then
    echo "the command fails at the good commit already:" >&2
    tail -n 5 "$copy/good" >&2
    exit 2
fi
at "$bad" || exit 2
if "$@" >"$copy/bad" 2>&1; then
    echo "the command passes at the bad commit" >&2
    exit 2
fi
cat >"$copy/try" <<'TRY'
#!/bin/sh
"$@" >/dev/null 2>&1
code=$?
if [ $code -ge 125 ] && [ $code -le 127 ]; then exit 125; fi
if [ $code -gt 127 ]; then exit 1; fi
exit $code
TRY
git bisect start --no-checkout >/dev/null 2>&1 && git bisect reset >/dev/null 2>&1
git bisect start "$bad" "$good" >/dev/null || exit 2
git bisect run sh "$copy/try" "$@" >"$copy/log" 2>&1
found=$(git rev-parse --verify --quiet refs/bisect/bad)
if ! grep -q "is the first bad commit\|is the first 'bad' commit" "$copy/log"; then
    echo "git bisect could not decide:" >&2
    tail -n 5 "$copy/log" >&2
    exit 2
fi
git log -1 --format='first bad commit: %H %s' "$found"
