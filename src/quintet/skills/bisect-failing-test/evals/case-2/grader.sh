#!/bin/sh
# The answer names the commit; nothing was changed.
grep -q 'value 8' answer.json && test -z "$(git -C work status --porcelain)"
