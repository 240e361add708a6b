#!/bin/sh
# Fails if the forecast of a scenario is worse than the one that was accepted last.
#
#   check_forecast.sh SCENARIO.yaml BASELINE.json [TOLERANCE]    compares; TOLERANCE is 2% if it is not given
#   check_forecast.sh SCENARIO.yaml BASELINE.json --accept       writes the baseline, to be committed
set -eu
scenario=$1 baseline=$2 tolerance=${3:-2%}
if [ "$tolerance" = --accept ]; then
  exec fabricast run "$scenario" --no-intervals --json "$baseline"
fi
fabricast run "$scenario" --no-intervals --json forecast.json
exec fabricast compare "$baseline" forecast.json --tolerance "$tolerance"
