#!/bin/sh
export GIT_AUTHOR_NAME=Eval GIT_AUTHOR_EMAIL=eval@localhost GIT_COMMITTER_NAME=Eval GIT_COMMITTER_EMAIL=eval@localhost
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    echo $n > value
    git commit -q -m "value $n" value || exit 1
done
