// Feeds the viewer's trace reader with damaged traces and checks what must hold whatever the bytes
// are:
//   it ends; it throws nothing but InputError; events are shown or counted as lost; slices of a
//   lane follow each other. fuzz_trace_reader CORPUS [runs=N] [seconds=S] [seed=N]
// The same seed gives the same inputs everywhere. An input that fails is left as fuzz_failure.bin
// in the temporary folder.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "sim/core/result.hpp"
#include "sim/io/files.hpp"
#include "sim/timeline/read/open_trace.hpp"
#include "tests/fuzz/trace_reader/mutate.hpp"
#include "tests/fuzz/trace_reader/trace_rules.hpp"
#include "tests/support/gzip.hpp"

namespace {
using namespace stepcast;
namespace fs = std::filesystem;

void put(const std::string& path, const std::string& bytes) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) throw EnvironmentError(path + " cannot be written");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
}

}  // namespace

int main(int count, char** values) {
  if (count < 2) {
    std::cerr << "fuzz_trace_reader CORPUS [runs=N] [seconds=S] [seed=N]\n";
    return 2;
  }
  std::uint64_t runs = 1'000, seconds = 0;
  fuzz::Noise noise{1};
  for (int i = 2; i < count; ++i) {
    const std::string word = values[i];
    if (word.starts_with("runs="))
      runs = std::stoull(word.substr(5));
    else if (word.starts_with("seconds="))
      seconds = std::stoull(word.substr(8));
    else if (word.starts_with("seed="))
      noise.state = std::stoull(word.substr(5));
    else {
      std::cerr << "unknown: " << word << "\n";
      return 2;
    }
  }
  std::vector<std::string> names, seeds;
  for (const auto& entry : fs::directory_iterator(values[1]))
    names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) seeds.push_back(read_file(name).value_or_throw());
  if (seeds.empty()) {
    std::cerr << "the corpus is empty\n";
    return 2;
  }
  const std::string path =
      (fs::temp_directory_path() / ("fuzz_" + std::to_string(getpid()) + ".json")).string();
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t run = 0, refused = 0, slices = 0;
  for (;; ++run) {
    if (seconds > 0 ? std::chrono::steady_clock::now() - begun > std::chrono::seconds(seconds)
                    : run >= runs)
      break;
    std::string input = run < seeds.size() ? seeds[run] : fuzz::mutated(seeds, noise);
    if (noise.below(8) == 0) {
      input = test::gzip_of(input);
      if (noise.below(2) == 0)
        input[noise.below(input.size())] ^= static_cast<char>(1 + noise.below(255));
      if (noise.below(4) == 0) input.resize(noise.below(input.size()));
    }
    put(path, input);
    std::string broken;
    try {
      const trace::OpenResult opened = trace::open_trace({path});
      slices += opened.trace->slices();
      broken = fuzz::broken_rule(opened);
    } catch (const InputError&) {
      ++refused;
    } catch (const std::exception& error) {
      broken = error.what();
    }
    if (!broken.empty()) {
      const std::string kept = (fs::temp_directory_path() / "fuzz_failure.bin").string();
      put(kept, input);
      std::cerr << "run " << run << ": " << broken << "; input kept as " << kept << "\n";
      return 1;
    }
  }
  fs::remove(path);
  std::cout << run << " inputs, " << refused << " refused, " << slices << " slices read\n";
  return slices > 0 ? 0 : 1;
}
