// Speed and memory of reading a Kineto trace: kineto_bench [MB] [file to keep].
// Writes a trace like PyTorch's (operators, runtime calls, kernels, flows, Python frames, one step
// mark each 1000 groups), reads it on one thread and prints MB per CPU second (CPU time, so that a
// shared machine does not blur it) and peak resident memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "sim/import/common/step_accounting.hpp"
#include "sim/import/kineto/kineto.hpp"

namespace {
std::uint64_t write_trace(const std::string& path, std::uint64_t size) {
  std::ofstream out(path, std::ios::binary);
  out << "{\n  \"schemaVersion\": 1,\n  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, "
         "\"world_size\": 8},\n  \"traceEvents\": [\n";
  std::uint64_t written = 0;
  double t = 4458676416000.125;
  bool is_first = true;
  for (int i = 1; written < size; ++i, t += 25.75) {
    std::string group;
    if (i % 1000 == 1)
      group += fmt::format(
          "  {{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#{}\", "
          "\"pid\": 2910249, \"tid\": 2910249, \"ts\": {:.3f}, "
          "\"dur\": 25000.0, \"args\": {{\"External id\": {}, \"Ev Idx\": {}}}}},\n",
          i / 1000, t, i, i);
    group += fmt::format(
        "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::addmm\", \"pid\": "
        "2910249, \"tid\": 2910249,\n    \"ts\": {0:.3f}, \"dur\": 18.250,\n    \"args\": {{\n"
        "      \"External id\": {1},\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", "
        "\"\", \"1\", \"1\"], \"Input type\": [\"float\", \"float\", \"float\", \"Scalar\", "
        "\"Scalar\"], "
        "\"Input Strides\": [[1], [1024, 1], [1, 1024], [], []], \"Input Dims\": [[4096], [512, "
        "1024], [1024, 4096], [], []], \"Ev Idx\": {1}\n    }}\n  }},\n"
        "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
        "\"pid\": 2910249, \"tid\": 2910249,\n    \"ts\": {2:.3f}, \"dur\": 5.125,\n    \"args\": "
        "{{\n"
        "      \"External id\": {1}, \"cbid\": 211, \"correlation\": {1}\n    }}\n  }},\n"
        "  {{\n    \"ph\": \"s\", \"id\": {1}, \"pid\": 2910249, \"tid\": 2910249, \"ts\": "
        "{2:.3f},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }},\n"
        "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void "
        "cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x128_16x{3}_tn_align4>(cutlass_80_"
        "tensorop_s1688gemm::Params)\", \"pid\": 0, \"tid\": 7,\n"
        "    \"ts\": {4:.3f}, \"dur\": 20.500,\n    \"args\": {{\n      \"External id\": {1}, "
        "\"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {1}, "
        "\"registers per thread\": 96, \"shared memory\": 87568, \"blocks per SM\": 0.592593, "
        "\"warps per SM\": 2.370370, \"grid\": [64, 1, 1], \"block\": [128, 1, 1], \"est. achieved "
        "occupancy %\": 4\n    }}\n  }},\n"
        "  {{\n    \"ph\": \"f\", \"id\": {1}, \"pid\": 0, \"tid\": 7, \"ts\": {4:.3f},\n    "
        "\"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }},\n"
        "  {{\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": "
        "\"torch/nn/modules/linear.py(114): forward\", \"pid\": 2910249, \"tid\": 2910249,\n    "
        "\"ts\": {0:.3f}, \"dur\": 22.000,\n    \"args\": {{\n"
        "      \"Python parent id\": 12, \"Python id\": {1}, \"Ev Idx\": {1}\n    }}\n  }}",
        t, i, t + 3, i % 4, t + 9);
    if (!is_first) out << ",\n";
    is_first = false;
    out << group;
    written += group.size();
  }
  out << "\n  ],\n  \"traceName\": \"bench.json\"\n}\n";
  return written;
}
double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

int run(int argc, char** argv) {
  const std::uint64_t megabytes = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 200;
  const bool is_kept = argc > 2;
  const std::string path =
      is_kept ? argv[2]
              : (std::filesystem::temp_directory_path() / "stepcast_kineto_bench.json").string();
  const std::uint64_t size = std::filesystem::exists(path) && is_kept
                                 ? std::filesystem::file_size(path)
                                 : write_trace(path, megabytes * 1'000'000);
  const double before = cpu_seconds();
  const auto trace = stepcast::kineto::read_trace(path);
  const double read = cpu_seconds() - before;
  const auto accounts = stepcast::accounts_of(trace);
  const double all = cpu_seconds() - before;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << fmt::format(
      "{:.0f} MB, {} entries, {} kept, {} steps: {:.2f} CPU s = {:.0f} MB/s ({:.2f} M entries/s); "
      "with accounting {:.0f} MB/s; peak {} MiB\n",
      static_cast<double>(size) * 1e-6, trace.entries_read, trace.events.size(), accounts.size(),
      read, static_cast<double>(size) * 1e-6 / read,
      static_cast<double>(trace.entries_read) * 1e-6 / read, static_cast<double>(size) * 1e-6 / all,
      usage.ru_maxrss / 1024);
  if (!is_kept) std::filesystem::remove(path);
  return 0;
}
}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {  // a file that is kept may be anything
    std::cerr << "kineto_bench: " << e.what() << '\n';
    return 2;
  }
}
