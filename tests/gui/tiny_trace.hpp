#pragma once
#include <QString>
#include <QTemporaryDir>
#include <string>

#include "sim/timeline/chrome_trace.hpp"
#include "sim/timeline/timeline.hpp"

namespace stepcast::tests {
/// Two nodes with two ranks each, three steps of 4 ms; rank 3 computes `slowness` times as long and
/// the others wait in the reduction.
///   compute   |forward 1 ms|backward 2 ms (x slowness)|        |adam 0.2 ms|
///   gradient                                          |grad_reduce to the common end|
/// Returns the path of the trace that stepcast itself would write.
inline QString write_tiny_trace(const QTemporaryDir& folder, const QString& name,
                                double slowness = 1.25) {
  Timeline t;
  t.origin = "simulated";
  const NameId forward = t.names.id_of("forward"), backward = t.names.id_of("backward"),
               reduce = t.names.id_of("grad_reduce"), adam = t.names.id_of("adam");
  for (int rank = 0; rank < 4; ++rank) {
    t.tracks.push_back({rank / 2, rank, "compute"});
    t.tracks.push_back({rank / 2, rank, "gradient"});
  }
  for (int step = 0; step < 3; ++step) {
    const Nanoseconds begin = Nanoseconds{step} * 4'000'000;
    const Nanoseconds common_end =
        begin + 1'000'000 + static_cast<Nanoseconds>(2'000'000 * slowness) + 300'000;
    for (int rank = 0; rank < 4; ++rank) {
      const auto compute = static_cast<std::uint32_t>(rank * 2), gradient = compute + 1;
      const Nanoseconds done =
          begin + 1'000'000 + static_cast<Nanoseconds>(2'000'000 * (rank == 3 ? slowness : 1));
      t.spans.push_back({compute, forward, Category::compute, begin, begin + 1'000'000, 0});
      t.spans.push_back({compute, backward, Category::compute, begin + 1'000'000, done, 0});
      t.spans.push_back({gradient, reduce, Category::exposed_dp, done, common_end, -1});
      t.spans.push_back({compute, adam, Category::optimizer, common_end, common_end + 200'000, -1});
    }
    t.flows.push_back({0, 2, begin + 500'000, begin + 600'000, forward});
  }
  const QString path = folder.filePath(name);
  write_chrome_trace(t, path.toStdString());
  return path;
}
}  // namespace stepcast::tests
