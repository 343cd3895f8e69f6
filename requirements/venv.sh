#!/bin/sh
# Makes or refreshes the controller's virtual environment: requirements/venv.sh DIRECTORY STAMP
# `make venv` calls it when STAMP is missing, that is when the lock, the package's own metadata or the place changed.
set -eu

directory=$1
stamp=$2
here=$(cd "$(dirname "$0")/.." && pwd)

too_old=""
without_venv=""
python=""
for candidate in python3.11 python3.12 python3.13 python3; do
    version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || continue
    if ! "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
        too_old="$candidate is Python $version. "
    elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
        [ -n "$without_venv" ] || without_venv=$version
    else
        python=$candidate
        break
    fi
done

if [ -z "$python" ]; then
    if [ -n "$without_venv" ]; then
        echo "Python $without_venv cannot make virtual environments: apt-get install python3-venv (or python$without_venv-venv)" >&2
    else
        echo "${too_old}The controller needs Python 3.11 or newer: apt-get install python3 python3-venv on Debian 12 and" \
            "Ubuntu 24.04, apt-get install python3.11 python3.11-venv on Ubuntu 22.04" >&2
    fi
    exit 1
fi

# A copied tree brings along an environment whose scripts still point to the old place; one of another Python is as useless.
marker="$directory/.made-for"
made_for="$directory $($python -c 'import sys; print(sys.version)' | tr '\n' ' ')"
if [ ! -x "$directory/bin/pip" ] || [ "$(cat "$marker" 2>/dev/null)" != "$made_for" ]; then
    echo "Making $directory with $python"
    "$python" -m venv --clear "$directory"
fi
rm -f "$directory"/.ready-*
"$directory/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r "$here/requirements/dev.txt"
"$directory/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e "$here"
echo "$made_for" >"$marker"
touch "$stamp"
