#!/bin/bash
# A real parameter server with workers as processes, beside the simulated one, as TABLE.md. Each row first measures its pieces one by one (the gradients of
# all workers while nobody sends, a message there and back of one worker alone, the server's sum), then trains, then simulates from the pieces alone.
#   tests/fidelity/sync/table.sh [--binary FILE] [--out FILE] [--steps N] [--only REGEX] [--limit PERCENT]
# About 4 minutes. Rows over shaped links need root (network namespaces, tc) and are skipped without, visibly. --steps: of each worker (100); --only: rows
# whose text (name, workers, link) matches; --limit: fail when a rate is further off.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
binary="$here/../../../build/release/tests/fidelity/sync/real_sync" out="$here/TABLE.md" only="." limit="" steps=100
while [ $# -gt 0 ]; do
  case "$1" in
    --binary) binary="$2"; shift ;; --out) out="$2"; shift ;; --only) only="$2"; shift ;;
    --limit) limit="$2"; shift ;; --steps) steps="$2"; shift ;;
    *) echo "table.sh: \"$1\" is not one of --binary, --out, --steps, --only, --limit" >&2; exit 2 ;;
  esac
  shift
done
[ -x "$binary" ] || { echo "table.sh: $binary is missing; build the target real_sync first" >&2; exit 3; }
work="$(mktemp -d)" rate="" pids=()
clean() { [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null; clean_namespaces; rm -rf "$work"; }
trap clean EXIT
trap 'exit 130' INT TERM

space() { echo "sync$$-$1"; }  # 0: the switch; 1: the server; 2 and on: workers
clean_namespaces() { local i; for i in 0 1 2 3 4 5; do ip netns del "$(space $i)" 2>/dev/null; done; rate=""; true; }
# A bridge with a port for the server and for four workers; every port sends $1 Gbit/s each way.
shape() {
  [ "$rate" = "$1" ] && return 0
  clean_namespaces
  [ "$(id -u)" = 0 ] && ip netns add "$(space 0)" 2>/dev/null || return 1
  ip -n "$(space 0)" link add hub type bridge && ip -n "$(space 0)" link set hub up || return 1
  local i
  for i in 1 2 3 4 5; do
    ip netns add "$(space $i)" && ip -n "$(space 0)" link add "port$i" type veth peer name nic netns "$(space $i)" || return 1
    ip -n "$(space 0)" link set "port$i" master hub up && ip -n "$(space $i)" link set lo up && ip -n "$(space $i)" link set nic up || return 1
    ip -n "$(space $i)" addr add "10.78.0.$i/24" dev nic || return 1
    # Burst: a segment of 64 KiB and little more, as in tests/fidelity/runtime/table.sh; the queue holds a whole gradient of each worker.
    tc -n "$(space $i)" qdisc add dev nic root tbf rate "$1gbit" burst 128kb limit 16mb &&
      tc -n "$(space 0)" qdisc add dev "port$i" root tbf rate "$1gbit" burst 128kb limit 16mb || return 1
  done
  rate="$1"
}

port=$((20000 + $$ % 20000)) failed=0; : >"$work/rows"
row() {  # NAME WORKERS LINK ARGUMENT...
  local name="$1" workers="$2" link="$3" text address=127.0.0.1 w code=0 at=(); shift 3
  text="$link"; [ "$link" = loopback ] || text="$link Gbit/s"
  [[ "$name, $workers, $text" =~ $only ]] || return 0
  if [ "$link" != loopback ]; then
    shape "$link" || { echo "| $name | $workers | $text | skipped: needs root and network namespaces | | | | |" | tee -a "$work/rows"; return; }
    address=10.78.0.1
  fi
  port=$((port + 1)); pids=()
  # exec: what is started in the background is the program itself, which an interrupt can then end.
  in_space() { if [ "$link" = loopback ]; then shift; exec timeout 120 "$@"; else exec timeout 120 ip netns exec "$(space "$1")" "${@:2}"; fi; }
  in_space 1 "$binary" --port $port --name "$name" --link "$text" --workers "$workers" --steps "$steps" "$@" >"$work/row" 2>"$work/err" & local server=$!
  pids=($server)
  for ((w = 0; w < workers; ++w)); do
    in_space $((w + 2)) "$binary" --port $port --address $address --worker $w --workers "$workers" --steps "$steps" "$@" 2>>"$work/err" & pids+=($!)
  done
  for w in "${pids[@]}"; do wait "$w" || code=$?; done
  pids=()
  cat "$work/err" >&2
  if [ $code != 0 ]; then echo "| $name | $workers | $text | failed, exit code $code | | | | |" | tee -a "$work/rows"; failed=1; return; fi
  tee -a "$work/rows" <"$work/row"
}

load="$(cut -d' ' -f1 /proc/loadavg)"
for link in loopback 1; do
  row "bsp"                                2 $link --mode bsp
  row "bsp, one worker twice as slow"      3 $link --mode bsp --slower 1,1,2
  row "bsp"                                4 $link --mode bsp
  row "ssp, bound 1"                       3 $link --mode ssp --staleness 1
  row "ssp, bound 3, one at half speed"    3 $link --mode ssp --staleness 3 --slower 1,1,2
  row "ssp, bound 2"                       4 $link --mode ssp --staleness 2
  row "async"                              2 $link --mode async
  row "async, one worker twice as slow"    3 $link --mode async --slower 1,1,2
  row "async"                              4 $link --mode async
  row "async, heavy jitter"                4 $link --mode async --sigma 0.6
done
row "async, short steps: the server's port decides" 4 1 --mode async --sleep 0.01

python3 - "$work/rows" "$limit" "$load" "$(nproc)" "$steps" >"$out.tmp" <<'PY'
import re, statistics, sys
rows = open(sys.argv[1]).read().splitlines()
limit, load, cores, steps = sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
errors = [abs(float(m.group(1))) for m in (re.search(r"([+-][\d.]+) % \|", r) for r in rows) if m]
print("# A parameter server: simulated from its pieces, measured\n")
print(f"Made by tests/fidelity/sync/table.sh, {steps} steps of each worker: gradients that the server takes in per second, and the shares (per cent) of updates")
print("of staleness 0 / 1 / 2 ... A step is a real gradient and a sleep of 40 ms on average with lognormal jitter (sigma 0.2) that stands for a device.")
def apart(row):  # per cent of updates that would have to change their staleness
    simulated, measured = ([float(x) for x in cell.split("/")] for cell in row.strip("| ").split("|")[-2:])
    return sum(abs(a - b) for a, b in zip(simulated, measured)) / 2
print("Workers share the cores: under bsp they start their gradients together and slow each other, which the piece (workers at random moments) does not hold.")
print(f"{cores} cores, load {load:.1f} when it began" + ("." if load < 0.5 * cores else ": NOT a quiet machine."))
print("\n| job | workers | link | simulated 1/s | measured 1/s | error | staleness simulated | measured |\n|---|---|---|---|---|---|---|---|")
print("\n".join(rows))
if errors:
    stale = [apart(r) for r in rows if "/" in r.rsplit("|", 2)[-2]]
    print(f"\n{len(errors)} jobs: median |error| {statistics.median(errors):.1f} %, worst {max(errors):.1f} %." +
          (f" Of {len(stale)} jobs the histograms of staleness differ in {statistics.median(stale):.0f} % of the updates in the median, {max(stale):.0f} % at worst."
           if stale else ""))
sys.exit(1 if not errors or (limit and max(errors) > float(limit)) else 0)
PY
verdict=$?; mv "$out.tmp" "$out"; tail -1 "$out"
[ $verdict = 0 ] && [ $failed = 0 ]
