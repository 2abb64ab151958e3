#!/usr/bin/env bash
# A worker of the team: does the open tasks of a repository in a clone of its own, pushes a branch for each, and ends.
set -eu
: "${QUINTET_DATABASE:?set QUINTET_DATABASE to the address of the database}"
repository=${1:?name the repository that the tasks are for}
quintet worker --repository "$repository" --push --permission-profile trusted
