#!/bin/bash
# Every importer under the mutation fuzzer with AddressSanitizer and UBSan, one after another.
#   tests/fuzz/run_all.sh [SECONDS]      seconds each importer is fuzzed, 600 by default
# Builds the sanitize preset's fuzzer first. Ends with 1 and names the importers with a finding;
# what they crashed on stands in their log under build/sanitize/fuzz.
set -eu
seconds=${1:-600}
case $seconds in
  '' | *[!0-9]*) echo "usage: $0 [SECONDS]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/../.."
cmake --preset sanitize
cmake --build --preset sanitize --target import_fuzz
fuzzer=build/sanitize/tests/fuzz/import_fuzz
targets=$("$fuzzer" 2>&1 | sed -n 's/.*targets: //p')  # its usage lists them
[ -n "$targets" ] || { echo "$fuzzer lists no targets" >&2; exit 1; }
logs=build/sanitize/fuzz
mkdir -p "$logs"
failed=""
for target in $targets; do
  if "$fuzzer" "$target" "$seconds" >"$logs/$target.log" 2>&1; then
    echo "$target: $(tail -n 1 "$logs/$target.log")"
  else
    echo "$target: FOUND SOMETHING, see $logs/$target.log"
    failed="$failed $target"
  fi
done
if [ -n "$failed" ]; then
  echo "findings in:$failed" >&2
  exit 1
fi
