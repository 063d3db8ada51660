#!/bin/sh
# Regenerates tests/fidelity/validate/SUMMARY.md: every public table of measurements, predicted row by row.
#   tests/fidelity/validate/summarise.sh STEPCAST DATA [JOBS]
# STEPCAST is the built program, DATA the folder with measured/, collectives/ and kernels/.
set -e
stepcast=${1:?the stepcast program} data=${2:?the folder of measured tables} jobs=${3:-2}
here=$(dirname "$0")
{
  echo "# Predicted against measured"
  echo
  echo "Made by \`tests/fidelity/validate/summarise.sh\` with the bundled profiles and the native engine. Rows come from public"
  echo "tables that stay outside the repository; held-out rows of the same tables were not used. Kernel tables and one-node"
  echo "collective tables are those that the profiles were fitted on: their rows show how well the fit describes them, and"
  echo "tests/fidelity holds the errors on rows left out."
  echo
  "$stepcast" validate --markdown --worst 5 -j "$jobs" \
    "$data"/measured/vtrain/single_node.csv "$data"/measured/vtrain/multi_node.csv "$data"/measured/simumax-b200/steps.csv \
    "$data"/measured/training_runs.csv "$data"/measured/mlperf_v4_0.csv "$data"/measured/dl_examples.csv "$data"/measured/nccl_points.csv \
    "$data"/collectives/*/*.csv "$data"/kernels/*/gemm.csv.gz "$data"/kernels/*/attention_forward.csv.gz
  cat "$here/missed-bars.md"
} > "$here/SUMMARY.md.new"
mv "$here/SUMMARY.md.new" "$here/SUMMARY.md"
