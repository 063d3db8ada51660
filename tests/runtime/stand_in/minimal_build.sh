#!/bin/bash
# minimal_build.sh SOURCE BUILD HAS_CUDA|configure [LAUNCHER]: what a GPU node without packages does. Hides every package but nlohmann/json, builds
# stepcast-calibrate (with the cuda plugin where HAS_CUDA is yes), and runs what can run without a GPU.
set -euo pipefail
source=$1 build=$2 has_cuda=$3 launcher=${4:-}
hidden=()
for package in SimGrid Eigen3 Catch2 fmt CLI11 ZLIB dnnl OpenMP Qt6 PkgConfig simdjson Protobuf SQLite3; do
  hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$package=ON")
done
targets=(stepcast-calibrate)
if [ "$has_cuda" = yes ]; then
  targets+=(stepcast_cuda stepcast_nccl_recorder)
  hidden+=(-DSTEPCAST_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90-real)
else
  hidden+=(-DSTEPCAST_CUDA=OFF)
fi
[ -z "$launcher" ] || hidden+=("-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CUDA_COMPILER_LAUNCHER=$launcher")

cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release -DSTEPCAST_WERROR=ON -DSTEPCAST_GLOO=OFF "${hidden[@]}"
# Seconds instead of minutes: finds a library below that links one which only exists with the simulator.
[ "$has_cuda" != configure ] || { echo "minimal build: configured"; exit 0; }
cmake --build "$build" --target "${targets[@]}" -j "$(nproc)"

fail() { echo "minimal_build.sh: $*" >&2; exit 1; }
calibrate=$build/calibrate/cli/stepcast-calibrate
if ldd "$calibrate" | grep -E "libfmt|libz\.|libdnnl|libgloo|libsimgrid|libcuda"; then fail "links what was hidden"; fi
"$calibrate" probe
"$calibrate" --help | grep -q measure || fail "no help"
code=0; "$calibrate" measure --suite nonsense || code=$?
[ "$code" = 2 ] || fail "a wrong suite ends with $code, not 2"
"$calibrate" measure --suite io -o "$build/out/io.profile.json"
[ -s "$build/out/io.profile.json" ] || fail "no profile was written"
if ! [ -e /proc/driver/nvidia/version ]; then
  code=0; "$calibrate" probe --backend cuda 2>"$build/cuda.txt" || code=$?
  [ "$code" = 3 ] && [ "$(wc -l <"$build/cuda.txt")" = 3 ] || fail "cuda without a driver: exit $code, $(cat "$build/cuda.txt")"
fi
echo "minimal build: good"
