#!/usr/bin/env bash
# Reviews what a branch changed since BASE, read-only: the report goes to review.md, and the exit code says whether
# there is a finding of severity high.
#
#   BASE=origin/main examples/review-pull-request/review.sh
#
# Nothing of the branch is run by the review; it needs a model (quintet models use …, or --model in QUINTET_FLAGS).
set -eu
base=${BASE:?set BASE to the branch that the pull request goes to}

# shellcheck disable=SC2086  # flags are several words
quintet -p "/review $base..HEAD" --max-cost "${MAX_COST:-1}" ${QUINTET_FLAGS:-} >review.md
cat review.md
if grep -qF '| high |' review.md; then
  echo "There are findings of severity high." >&2
  exit 1
fi
