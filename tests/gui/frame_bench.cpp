// CPU time of a frame at 1920x1080, software raster: overview and timeline over a synthetic trace
// at every zoom.
//   stepcast-viewer-frame-bench [SLICES] [TRACKS]        default 10 000 000 slices on 8192 tracks
// Prints one line a zoom: median and 95th percentile of thread CPU time in ms; exit 1 where the
// goals of median 4 ms, p95 16 ms are missed.
#include <QApplication>
#include <QPainter>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "gui/look/theme.hpp"
#include "gui/views/overview_view.hpp"
#include "gui/views/timeline_view.hpp"
#include "sim/timeline/store/store_builder.hpp"

using namespace stepcast;
using namespace stepcast::gui;

namespace {
constexpr double kMedianGoal_ms = 4, kP95Goal_ms = 16;
constexpr int kFrames = 40;

double cpu_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}
trace::TracePtr synthetic(std::int64_t slices, int tracks) {
  trace::StoreBuilder builder;
  std::mt19937_64 random(1);
  std::vector<trace::OpId> ops;
  static constexpr trace::SliceCategory kKinds[]{
      trace::SliceCategory::compute, trace::SliceCategory::exposed_dp, trace::SliceCategory::bubble,
      trace::SliceCategory::exposed_tp};
  for (int i = 0; i < 40; ++i)
    ops.push_back(builder.op("op_" + std::to_string(i), "kernel", kKinds[i % 4]));
  const int per_rank = 4, each = static_cast<int>(slices / tracks);
  for (int track = 0; track < tracks; ++track) {
    const int rank = track / per_rank;
    const auto id = builder.add_track({.node = "node " + std::to_string(rank / 8),
                                       .rank = rank,
                                       .process_key = std::to_string(rank / 8),
                                       .rank_label = "rank " + std::to_string(rank),
                                       .kind = trace::TrackKind::device_stream,
                                       .pid = std::to_string(rank / 8),
                                       .tid = std::to_string(track),
                                       .label = "stream " + std::to_string(track % per_rank),
                                       .node_sort = rank / 8,
                                       .rank_sort = rank,
                                       .sort = track});
    Nanoseconds at = static_cast<Nanoseconds>(random() % 20'000);
    for (int i = 0; i < each; ++i) {
      const auto length = static_cast<Nanoseconds>(2'000 + random() % 30'000);
      builder.add_slice(id, at, length, ops[random() % ops.size()]);
      at += length + static_cast<Nanoseconds>(random() % 4'000);
    }
  }
  return builder.build({.mark_overlapped = false});
}
bool measure(const char* what, const std::function<void()>& frame) {
  std::vector<double> times;
  frame();  // fonts, palettes
  for (int i = 0; i < kFrames; ++i) {
    const double before = cpu_ms();
    frame();
    times.push_back(cpu_ms() - before);
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2], p95 = times[times.size() * 95 / 100];
  const bool is_good = median <= kMedianGoal_ms && p95 <= kP95Goal_ms;
  std::printf("%-34s median %7.2f ms   p95 %7.2f ms   %s\n", what, median, p95,
              is_good ? "" : "over the goal");
  return is_good;
}
}  // namespace

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  const std::int64_t slices = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  const int tracks = argc > 2 ? std::atoi(argv[2]) : 8192;
  set_theme(ThemeKind::dark, PaletteKind::standard);
  TraceFacts facts;
  facts.trace = synthetic(slices, tracks);
  facts.states = std::make_shared<trace::LodPyramid>(facts.trace, trace::state_rows(*facts.trace));
  facts.lanes = std::make_shared<trace::LodPyramid>(facts.trace, trace::lane_rows(*facts.trace));
  std::printf(
      "%zu slices, %zu tracks, %.1f bytes a slice with pyramids\n", facts.trace->slices(),
      facts.trace->tracks().size(),
      static_cast<double>(facts.trace->memory() + facts.states->memory() + facts.lanes->memory()) /
          static_cast<double>(facts.trace->slices()));
  bool is_good = true;
  OverviewView overview;
  std::vector<trace::RankId> order(facts.trace->ranks().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<trace::RankId>(i);
  overview.set_rows(facts.states, facts.trace, order);
  QImage image(1920, 1080, QImage::Format_RGB32);
  is_good &= measure("overview, all ranks x all time", [&] {
    QPainter painter(&image);
    overview.render_into(painter, {1920, 1080}, 1);
  });
  TimelineView view;
  view.setFrameShape(QFrame::NoFrame);
  view.resize(1920, 1080);
  TimelineScene scene;
  scene.sides.emplace_back();
  scene.sides[0].facts = facts;
  for (trace::RankId rank = 0; rank < facts.trace->ranks().size(); ++rank)
    scene.sides[0].choice.open_ranks.insert(rank);
  view.set_scene(scene, false);
  const TimeRange whole = view.whole();
  for (const double share : {1.0, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001}) {
    char what[64];
    std::snprintf(what, sizeof what, "timeline, %g %% of the time", share * 100);
    const auto length = static_cast<Nanoseconds>(static_cast<double>(whole.length()) * share);
    view.set_view({whole.start + whole.length() / 3, whole.start + whole.length() / 3 + length});
    if (share == 1.0) view.fit_all();
    is_good &= measure(what, [&] {
      QPainter painter(&image);
      view.render_into(painter, {1920, 1080});
    });
  }
  view.collapse_all();
  view.fit_all();
  is_good &= measure("timeline, all ranks closed", [&] {
    QPainter painter(&image);
    view.render_into(painter, {1920, 1080});
  });
  return is_good ? 0 : 1;
}
