#!/bin/sh
export GIT_AUTHOR_NAME=Eval GIT_AUTHOR_EMAIL=eval@localhost GIT_COMMITTER_NAME=Eval GIT_COMMITTER_EMAIL=eval@localhost
say() { echo "$1" >> a.txt; git commit -q -a -m "$1" ${2:+-m "$2"} || exit 1; }
say "feat: old news"
git tag v1
say "feat(cli): add a flag"
say "fix: count from one"
say "refactor!: drop the old name" "BREAKING CHANGE: use the new one."
say "Tidy"
