// The same rules under libFuzzer, which is led by the reader's own branches: preset `libfuzzer`
// (clang), then
//   libfuzzer_trace_reader -max_total_time=600 NEW_CORPUS tests/fuzz/trace_reader/corpus
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "sim/core/result.hpp"
#include "tests/fuzz/trace_reader/trace_rules.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepcast;
  static const std::string path =
      (std::filesystem::temp_directory_path() / ("libfuzzer_" + std::to_string(getpid()) + ".json"))
          .string();
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) std::abort();
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  try {
    const std::string broken = fuzz::broken_rule(trace::open_trace({path}));
    if (!broken.empty()) {
      std::cerr << broken << "\n";
      std::abort();
    }
  } catch (const InputError&) {
    return 0;  // refused, as damaged files are
  }
  return 0;
}
