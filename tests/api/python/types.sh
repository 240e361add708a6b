#!/bin/sh
# types.sh PACKAGES WORK: mypy accepts the package in its strict mode, and a program that uses it.
command -v mypy >/dev/null || { echo "no mypy"; exit 77; }
cat >"$2/uses_fabricast.py" <<'END'
import fabricast
scenario = fabricast.Scenario({"fabricast": 1})
rows = scenario.with_({"cluster.nodes": 4}).run(intervals=False, measured=[("a.csv", "x")]).rows
healthy: bool = scenario.check("today.log").healthy
END
cd "$2" && MYPYPATH=$1 PATH=/usr/bin:$PATH mypy --strict --ignore-missing-imports --no-error-summary -p fabricast || exit 1
MYPYPATH=$1 PATH=/usr/bin:$PATH mypy --strict --ignore-missing-imports --no-error-summary uses_fabricast.py || exit 1
sed -i 's/"today.log"/12/' uses_fabricast.py
! MYPYPATH=$1 PATH=/usr/bin:$PATH mypy --strict --ignore-missing-imports uses_fabricast.py >/dev/null
