#!/bin/bash
# Renders every main view of the viewer offscreen, in both themes at 1x and 2x. Three of them stand in docs/.
# With --large a 1024-node step with a slow rank as well: eight minutes in place of two.
#   gui/screenshots.sh BUILD_FOLDER OUTPUT_FOLDER [--docs] [--large]      e.g. gui/screenshots.sh build/release /tmp/shots
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,4p' "$0"; exit 2; }
build=$(realpath "$1"); out=$2; root=$(realpath "$(dirname "$0")/..")
stepcast=$build/sim/cli/stepcast; program=$build/tests/gui/stepcast-viewer-screenshots
export QT_QPA_PLATFORM=offscreen STEPCAST=$stepcast XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-$(mktemp -d)}
mkdir -p "$out"
"$stepcast" simulate gpt3-175b-straggler -o "$out/a" --detail 2 >/dev/null
"$stepcast" simulate gpt3-175b-straggler -o "$out/b" --detail 2 --set '/stragglers=[]' --set /cluster/nic_Gbps=200 >/dev/null
options=" ${*:3} "; large=
if [[ $options == *" --large "* ]]; then
  "$stepcast" simulate gpt3-175b-1024n -o "$out/large" --set /run/fold=false \
    --set '/stragglers=[{"ranks":"4096","compute_slowdown":1.3}]' >/dev/null
  large=$out/large/trace.json.gz
fi
for theme in dark light; do
  for scale in 1 2; do
    QT_SCALE_FACTOR=$scale "$program" "$out/a/trace.json.gz" "$out/b/trace.json.gz" "$out" "$theme-${scale}x" $theme $large
  done
done
if [[ $options == *" --docs "* ]]; then
  cp "$out/explore-dark-1x.png" "$root/docs/viewer-explore.png"
  cp "$out/ranks-dark-1x.png" "$root/docs/viewer-straggler.png"
  cp "$out/critical-dark-1x.png" "$root/docs/viewer-critical.png"
fi
