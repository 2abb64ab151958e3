#!/usr/bin/env bash
# Runs this project's tests every night and writes what fails; run it once, in the project.
#
#   examples/nightly/nightly.sh
#
# Nobody is asked at night: what needs approval is skipped, and the history says so. Look at it in the morning with
# `quintet schedule history nightly`. `quintet schedule install` starts a timer that does what is due.
set -eu
quintet schedule add "daily 02:30" --name nightly --mode build --permission-profile trusted --max-turns 30 --max-cost 1 \
  -- "run the tests"
quintet schedule list
