#!/bin/bash
# Never run on a GPU so far: none was available (README.md beside this file).
# Everything that needs a GPU, in under ten minutes of device time, on a machine that has one:
#   runtime/cuda/on_device.sh [OUT]        OUT [out/on_device]: outputs to commit are copied there
# 1. build with the cuda backend for this GPU   2. probe   3. all tests labelled gpu   4. compute-sanitizer over those of the seam
# 5. the full suite, with its profile   6. the step of a 1.3B model, with and without the recorder   7. what to commit
# Time limits sum to 10 minutes; a step that fails is named at the end and does not stop the others.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=${1:-out/on_device}
mkdir -p "$out"
failed=()

step() {  # NAME SECONDS COMMAND...
  local name=$1 limit=$2
  shift 2
  echo "== $name"
  local begin=$SECONDS
  if timeout --kill-after=10 "$limit" "$@" >"$out/$name.log" 2>&1; then
    echo "   good, $((SECONDS - begin)) s"
  else
    echo "   FAILED (exit $?), $((SECONDS - begin)) s; the end of $out/$name.log:"
    tail -15 "$out/$name.log" | sed 's/^/   | /'
    failed+=("$name")
  fi
}

command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || {
  echo "on_device.sh: no NVIDIA GPU on this machine (nvidia-smi does not list one)" >&2
  exit 3
}
nvidia-smi -q >"$out/nvidia-smi.txt"
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
build=${STEPCAST_BUILD:-build/on_device}
# The build is host time, not device time.
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DSTEPCAST_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="$capability-real" >"$out/build.log" 2>&1 &&
  cmake --build "$build" --target stepcast_cuda stepcast_nccl_recorder stepcast-calibrate runtime_device_test runtime_step_test >>"$out/build.log" 2>&1 || {
  tail -30 "$out/build.log"
  exit 1
}
calibrate=$(find "$build" -name stepcast-calibrate -type f -perm -u+x | head -1)
device_test=$(find "$build" -name runtime_device_test -type f | head -1)
export STEPCAST_PLUGINS=$(realpath "$build")/runtime/cuda STEPCAST_TEST_BACKEND=cuda

step probe 20 "$calibrate" probe --backend cuda --json
step gpu_tests 90 ctest --test-dir "$build" -L gpu --no-tests=error --output-on-failure
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
for tool in memcheck racecheck synccheck initcheck; do
  step "sanitizer_$tool" 45 "$sanitizer" --tool $tool --error-exitcode 9 "$device_test" "~*host enqueues*"
done
NCCL_PROFILER_PLUGIN=$STEPCAST_PLUGINS/libstepcast_nccl_recorder.so NCCL_TUNER_PLUGIN=$STEPCAST_PLUGINS/libstepcast_nccl_recorder.so \
  STEPCAST_NCCL_RECORD=$out/nccl step full_suite 240 "$calibrate" measure --backend cuda --suite full -o "$out/full.profile.json"
# 24 blocks of 12 * 2048^2 parameters and a vocabulary of 50304 * 2048: 1.3e9.
step step_1.3B 60 "$calibrate" measure --backend cuda --suite step -o "$out/step.profile.json" \
  --set /model/layers=24 --set /model/hidden=2048 --set /model/heads=16 --set /model/ffn=8192 --set /model/vocab=50304 --set /model/max_positions=1024 \
  --set /training/sequence_length=1024 --set /training/precision=bf16

echo
echo "to commit from $out: full.profile.json, step.profile.json, step.measured.json, probe.log (device description), gpu_tests.log"
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed: ${failed[*]}"
  exit 1
fi
echo "all steps good"
