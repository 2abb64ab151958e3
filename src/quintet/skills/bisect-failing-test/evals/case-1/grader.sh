#!/bin/sh
# The commit of value 8 is named, and the work tree and branch are as they were.
grep -q '^first bad commit: [0-9a-f]* value 8$' work/found.txt || exit 1
test "$(cat work/value)" = 12 && test "$(git -C work rev-parse --abbrev-ref HEAD)" = main
