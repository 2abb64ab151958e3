# shellcheck shell=bash
# Sourced by the other scripts: finds Python and makes the environments they run in.
# Works with the bash 3.2 of macOS.

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)

die() {
  printf '%s\n' "$@" >&2
  exit 1
}

# usage FILE WORD: with -h or --help prints what the script says of itself, the comment that it begins with, and exits.
usage() {
  case ${2-} in
    -h | --help) sed -n '/^#!/d; /^#/!q; s/^# \{0,1\}//p' "$1"; exit ;;
  esac
}

# Sets $python and $python_version to the first Python that can make an environment.
find_python() {
  local candidate found status without_venv=''
  for candidate in ${PYTHON:+"$PYTHON"} python3 python3.14 python3.13 python3.12 python3.11; do
    status=0
    # The base executable, not the candidate: the candidate may live in the environment about to be replaced.
    found=$("$candidate" -IS -c '
import sys
from importlib.util import find_spec
if sys.version_info < (3, 11): sys.exit(1)
if not (find_spec("venv") and find_spec("ensurepip")): sys.exit(3)
print(sys.version.split()[0], sys._base_executable)' 2>/dev/null) || status=$?
    case $status in
      0) python_version=${found%% *} python=${found#* }; return ;;
      3) without_venv=${without_venv:-$candidate} ;;
    esac
  done
  [ -z "$without_venv" ] ||
    die "$without_venv lacks venv or ensurepip. Install them (Debian, Ubuntu: apt-get install python3-venv)."
  die "Quintet needs Python 3.11 or newer and found none." \
    "Install one (Debian, Ubuntu: apt-get install python3 python3-venv; macOS: brew install python)," \
    "or name it: PYTHON=/path/to/python3 $0"
}

# set_up run|dev|site: makes sure the environment is there and current; sets $bin to its folder of commands.
set_up() {
  local requirements=$root/requirements/$1.txt env shown stamp start=$SECONDS
  case $1 in
    run) env=${QUINTET_VENV_DIR:-$root}/.venv ;;
    dev) env=${QUINTET_VENV_DIR:-$root}/.venv-test ;;
    site) env=${QUINTET_VENV_DIR:-$root}/.venv-site ;;
  esac
  # A relative QUINTET_VENV_DIR counts from the project, so that it names the same folder from everywhere.
  case $env in /*) ;; *) env=$root/$env ;; esac
  shown=${env#"$root/"}
  bin=$env/bin

  find_python
  # The path is part of the stamp: an environment does not survive being moved.
  stamp="$env $root $python_version $(cat "$requirements" "$root/pyproject.toml" | cksum)"
  if [ -x "$bin/python" ] && [ -f "$env/stamp" ] && [ "$(cat "$env/stamp")" = "$stamp" ]; then
    return
  fi

  # Every environment made here has a setup.log from its first moment; anything else is not ours to remove.
  [ ! -e "$env" ] || [ -e "$env/setup.log" ] ||
    die "$shown is there already, but these scripts did not make it. Move it away and try again."

  # The stamp goes first and comes back last, so a set-up that was interrupted is never taken for a good one.
  # The log stays throughout, so what an interruption leaves behind is still known as ours.
  printf 'Setting up Quintet in %s … ' "$shown" >&2
  rm -f "$env/stamp"
  [ ! -e "$env" ] || find "$env" -mindepth 1 -maxdepth 1 ! -name setup.log -exec rm -rf {} +
  mkdir -p "$env"
  if install_into "$env" "$requirements" >"$env/setup.log" 2>&1; then
    printf '%s\n' "$stamp" >"$env/stamp"
    printf 'done (%s s)\n' $((SECONDS - start)) >&2
  else
    printf 'failed\n\n' >&2
    tail -n 20 "$env/setup.log" >&2
    die "" "The whole log: $env/setup.log"
  fi
}

# Joined by &&, because set -e does not act inside a condition.
install_into() {
  local env=$1 requirements=$2
  "$python" -m venv "$env" &&
    pip_in "$env" --require-hashes -r "$requirements" &&
    { [ "${requirements##*/}" = site.txt ] || pip_in "$env" --no-deps --no-build-isolation -e "$root"; }
}

pip_in() {
  local env=$1
  shift
  # pip keeps its cache under HOME; without a HOME to write to it does without one.
  if [ -z "${HOME:-}" ] || [ ! -w "$HOME" ]; then set -- --no-cache-dir "$@"; fi
  "$env/bin/python" -m pip install --disable-pip-version-check --no-input "$@"
}

# dispatch FOLDER PREFIX [NAME ARGS…]: runs FOLDER/PREFIX<NAME>.py in the test environment, or lists the names.
dispatch() {
  local folder=$1 prefix=$2 asked=${3-} name
  case $asked in -h | --help) asked='' ;; esac
  name=${asked//-/_} # a check of two words
  cd "$root" || exit
  if [ -z "$name" ]; then
    printf 'Usage: %s NAME [ARGS…]\n' "$0"
    list_names "$folder" "$prefix"
  elif [ ! -f "$folder/$prefix$name.py" ]; then
    printf '%s: there is no "%s"\n' "$0" "$asked" >&2
    list_names "$folder" "$prefix" >&2
    exit 2
  else
    shift 3
    set_up dev
    exec "$bin/python" "$folder/$prefix$name.py" "$@"
  fi
}

# Each name with the first line of its docstring; files that start with an underscore are helpers.
list_names() {
  find_python
  "$python" -IS - "$1" "$2" <<'PYTHON'
import ast, os, sys

folder, prefix = sys.argv[1:]
files = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
names = [f[len(prefix):-3].replace("_", "-") for f in files if f.startswith(prefix) and f.endswith(".py") and f[0] != "_"]
for name in names:
    with open(os.path.join(folder, f"{prefix}{name.replace('-', '_')}.py"), encoding="utf-8") as source:
        doc = ast.get_docstring(ast.parse(source.read())) or ""
    print(f"  {name:<{max(map(len, names))}}  {doc.partition(chr(10))[0]}".rstrip())
if not names:
    print(f"  (none in {folder}/ yet)")
PYTHON
}
