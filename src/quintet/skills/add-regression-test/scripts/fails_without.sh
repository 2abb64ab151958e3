#!/bin/sh
# fails_without.sh FILE… -- COMMAND…: does COMMAND fail without the uncommitted fix, and pass with it?
# The test files are put into a copy of the last commit; nothing here is changed. Exit code 0 if both hold.
set -u
files=
while [ $# -gt 0 ] && [ "$1" != "--" ]; do
    case $1 in
        *[![:print:]]* | *" "*) echo "a file with a space or control character: $1" >&2; exit 2 ;;
    esac
    files="$files $1"
    shift
done
[ $# -gt 1 ] || { echo "usage: fails_without.sh FILE… -- COMMAND…" >&2; exit 2; }
shift
here=$(pwd)
top=$(git rev-parse --show-toplevel) || exit 2
below=${here#"$top"}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM
git clone --quiet --shared "$top" "$copy/repo" || exit 2
for file in $files; do
    [ -f "$file" ] || { echo "no such file: $file" >&2; exit 2; }
    mkdir -p "$(dirname "$copy/repo$below/$file")"
    cp "$file" "$copy/repo$below/$file"
done
if (cd "$copy/repo$below" && "$@") >"$copy/without" 2>&1; then
    echo "it passes without the fix: the test does not reach the bug"
    exit 1
fi
echo "without the fix it fails:"
tail -n 3 "$copy/without"
if ! (cd "$here" && "$@") >"$copy/with" 2>&1; then
    echo "with the fix it fails too:"
    tail -n 5 "$copy/with"
    exit 1
fi
echo "with the fix it passes"
