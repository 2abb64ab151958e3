#!/usr/bin/env bash
# A team on one PostgreSQL database: this adds the tasks of tasks/ to the project, for workers on any machine.
#
#   export QUINTET_DATABASE=postgresql://ada@db.example.org/quintet
#   quintet database init          # once
#   examples/team/plan.sh          # in a clone of the repository
#   examples/team/work.sh URL      # on each machine that works: URL is the address of the repository
set -eu
: "${QUINTET_DATABASE:?set QUINTET_DATABASE to the address of the database}"
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
quintet tasks add "$here"/tasks/*.md
quintet tasks list
