#!/bin/bash
# Predicted against measured steps of this machine's CPU, as TABLE.md. Each row: `stepcast-calibrate measure --suite step` measures the step's ops one by
# one, its collectives on that link, its compressor and their interference, in turns with the step itself; the simulator forecasts the step from these
# pieces alone.
#   tests/fidelity/runtime/table.sh [--build DIR] [--out FILE] [--work DIR] [--limit PERCENT] [--only REGEX] [--fresh]
# About 8 minutes on a quiet machine of two cores. A run that was interrupted goes on where it stopped: finished rows stay in --work (out/runtime-table);
# --fresh starts anew. --limit: fail when a row is further off (the gate of CI is 25). --only: rows whose name matches, for a look at some.
# Rows over shaped links need root (network namespaces, tc); without they are skipped, visibly.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)" root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
build="$root/build/release" out="$here/TABLE.md" work="$root/out/runtime-table" limit="" only="." fresh=0
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build="$2"; shift ;; --out) out="$2"; shift ;; --work) work="$2"; shift ;;
    --limit) limit="$2"; shift ;; --only) only="$2"; shift ;; --fresh) fresh=1 ;;
    *) echo "table.sh: \"$1\" is not one of --build, --out, --work, --limit, --only, --fresh" >&2; exit 2 ;;
  esac
  shift
done
stepcast="$build/sim/cli/stepcast" calibrate="$build/calibrate/cli/stepcast-calibrate"
for binary in "$stepcast" "$calibrate"; do [ -x "$binary" ] || { echo "table.sh: $binary is missing; build it first" >&2; exit 3; }; done
[ $fresh = 1 ] && rm -rf "$work"
mkdir -p "$work" || exit 3
trap 'clean_namespaces' EXIT
running=()
trap '[ ${#running[@]} = 0 ] || kill "${running[@]}" 2>/dev/null; exit 130' INT TERM
row_limit=150  # seconds that a row may take before it counts as hung

clean_namespaces() { for rank in 0 1; do ip netns del "stepcast$$-$rank" 2>/dev/null; done; shaped=""; true; }
shaped=""
# Two namespaces joined by a veth pair, each direction shaped to $1 Gbit/s.
shape() {
  [ "$shaped" = "$1" ] && return 0
  clean_namespaces
  [ "$(id -u)" = 0 ] && ip netns add "stepcast$$-0" 2>/dev/null && ip netns add "stepcast$$-1" || return 1
  ip link add "sc$$a" netns "stepcast$$-0" type veth peer name "sc$$b" netns "stepcast$$-1" || return 1
  for rank in 0 1; do
    local device="sc$$a"; [ $rank = 1 ] && device="sc$$b"
    ip -n "stepcast$$-$rank" addr add "10.77.0.$((rank + 1))/24" dev $device
    ip -n "stepcast$$-$rank" link set lo up; ip -n "stepcast$$-$rank" link set $device up
    # Burst: what the link may send at once after a pause. It must hold a segment of 64 KiB, and be short against a bucket: a step computes between
    # two gradients, and a larger burst would then be a gift that back-to-back collectives never get. 128 KiB are 1 ms at 1 Gbit/s.
    tc -n "stepcast$$-$rank" qdisc add dev $device root tbf rate "$1gbit" burst 128kb latency 20ms || return 1
  done
  shaped="$1"
}

# run STEM RANKS LINK ARGUMENT...: stepcast-calibrate measure on that link. 77: cannot be done here.
port=29611
run() {
  local stem="$1" ranks="$2" link="$3"; shift 3
  local command=(timeout "$row_limit" "$calibrate" measure "$@" --time-limit 60 -o "$stem.profile.json" --json) code=0
  if [ "$link" = loopback ]; then
    "${command[@]}" --ranks "$ranks" >"$stem.out" 2>"$stem.err"; return
  fi
  shape "$link" || return 77
  port=$((port + 1))
  local pids=() pid
  for rank in 1 0; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=10.77.0.1 MASTER_PORT=$port \
      ip netns exec "stepcast$$-$rank" "${command[@]}" >"$stem.out$rank" 2>"$stem.err$rank" & pids+=($!)
  done
  running=("${pids[@]}")
  for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
  running=()
  cat "$stem.err0" "$stem.err1" >"$stem.err"
  return $code
}
text_of_link() { if [ "$1" = loopback ]; then echo loopback; else echo "$1 Gbit/s"; fi; }

# row NAME RANKS LINK ARGUMENT...
rows=0 failed=0 started=$SECONDS; : >"$work/rows"
row() {
  local name="$1" ranks="$2" link="$3" code=0 stem; shift 3
  rows=$((rows + 1)); stem="$work/row$rows"
  [[ "$name" =~ $only ]] || return 0
  # The name is part of what makes a row: after an edit of this list another row may have its number.
  if [ ! -e "$stem.row" ] || [ "$(cat "$stem.name" 2>/dev/null)" != "$name $ranks $link $*" ]; then
    rm -f "$stem".*
    echo "$name $ranks $link $*" >"$stem.name"
    run "$stem" "$ranks" "$link" --suite step "$@" || code=$?
    if [ $code = 77 ]; then
      echo "| $name | $ranks | $(text_of_link "$link") | skipped: needs root and network namespaces | | |" | tee -a "$work/rows"; return
    fi
    [ $code = 0 ] && { forecast "$stem" "$name" "$ranks" "$link" >"$stem.new" && mv "$stem.new" "$stem.row" || code=$?; }
    if [ $code != 0 ]; then
      echo "row \"$name\" failed with exit code $code:" >&2; tail -3 "$stem.err" >&2
      echo "| $name | $ranks | $(text_of_link "$link") | failed, exit code $code | | |" | tee -a "$work/rows"; failed=1; return
    fi
  fi
  tee -a "$work/rows" <"$stem.row"
}
forecast() {
  "$stepcast" simulate "$1.scenario.json" --profile "$1.profile.json" --json >"$1.report.json" 2>>"$1.err" || return $?
  python3 - "$@" <<'PY'
import json, sys
stem, name, ranks, link = sys.argv[1:5]
report, measured = json.load(open(stem + ".report.json")), json.load(open(stem + ".measured.json"))
p, m = report["step_time_s"]["p50"], measured["step_time_s"]
link = link if link == "loopback" else link + " Gbit/s"
print(f"| {name} | {ranks} | {link} | {p*1e3:.2f} | {m['p50']*1e3:.2f} ({m['quality']}) | {100*(p/m['p50']-1):+.1f} % |")
PY
}

load="$(cut -d' ' -f1 /proc/loadavg)"
S=/strategy M=/model T=/training C=/compression
set_all() { local setting; sets=(); for setting in "$@"; do sets+=(--set "$setting"); done; }
gpt() { local name="$1" ranks="$2" link="$3"; shift 3; set_all "$@"; row "$name" "$ranks" "$link" ${sets[@]+"${sets[@]}"}; }
gpt "GPT, width 256, 4 blocks"           1 loopback
gpt "width 128"                          1 loopback $M/hidden=128 $M/ffn=512
gpt "width 512, 2 blocks"                1 loopback $M/hidden=512 $M/ffn=2048 $M/layers=2
gpt "8 blocks"                           1 loopback $M/layers=8
gpt "batch 8"                            1 loopback $T/global_batch=8 $T/micro_batch=8
gpt "4 micro-batches of 1"               1 loopback $T/micro_batch=1
gpt "recompute"                          1 loopback $T/recompute=full
gpt "Llama-style, 4 kv heads"            1 loopback $M/kv_heads=4 $M/gated=true $M/norm=rmsnorm $M/rope=true $M/bias=false $M/max_positions=0 $M/tied_embedding=false
row "residual network, batch 16"         1 loopback --model resnet-small
row "DLRM, 8 tables, batch 256"          1 loopback --model dlrm
gpt "buckets of 1 MiB, overlap"          2 loopback
gpt "one bucket, overlap"                2 loopback $S/bucket_MiB=1024
gpt "no overlap"                         2 loopback $S/overlap_grad_reduce=false
gpt "buckets of 1 MiB, overlap"          2 1
gpt "no overlap"                         2 1 $S/overlap_grad_reduce=false
gpt "buckets of 4 MiB, overlap"          2 1 $S/bucket_MiB=4
gpt "width 128"                          2 1 $M/hidden=128 $M/ffn=512
row "residual network, batch 16"         2 1 --model resnet-small
row "DLRM, 8 tables, batch 256"          2 1 --model dlrm
for scheme in fp16 bf16 int8 fp8 onebit topk randomk powersgd; do gpt "$scheme gradients" 2 1 $C/scheme=$scheme; done
gpt "buckets of 1 MiB, overlap"          2 4
gpt "no overlap"                         2 4 $S/overlap_grad_reduce=false
gpt "8 blocks"                           2 4 $M/layers=8
row "DLRM, 8 tables, batch 256"          2 4 --model dlrm

python3 - "$work/rows" "$limit" "$load" "$(nproc)" >"$out.tmp" <<'PY'
import re, statistics, sys
rows = open(sys.argv[1]).read().splitlines()
limit, load, cores = sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
errors = [abs(float(m.group(1))) for m in (re.search(r"([+-][\d.]+) % \|$", r) for r in rows) if m]
print("# Steps of the CPU runtime: predicted from pieces, measured\n")
print("Made by tests/fidelity/runtime/table.sh; milliseconds, medians. In brackets the measured step's own quality (docs/runtime.md).")
print(f"{cores} cores, load {load:.1f} when it began" + ("." if load < 0.5 * cores else ": NOT a quiet machine."))
print("\n| step | ranks | link | predicted | measured | error |\n|---|---|---|---|---|---|")
print("\n".join(rows))
if errors: print(f"\n{len(errors)} steps: median |error| {statistics.median(errors):.1f} %, worst {max(errors):.1f} %.")
sys.exit(1 if not errors or (limit and max(errors) > float(limit)) else 0)
PY
verdict=$?; mv "$out.tmp" "$out"; tail -1 "$out"; echo "$((SECONDS - started)) s, written to $out" >&2
[ $verdict = 0 ] && [ $failed = 0 ]
