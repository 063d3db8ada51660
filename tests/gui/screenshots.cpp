// Renders every main view of the viewer into PNG files; gui/screenshots.sh calls it for both themes
// and both scales.
//   stepcast-viewer-screenshots A.json.gz B.json.gz FOLDER SUFFIX dark|light [LARGE.json.gz]
// A and B stand beside their report.json; LARGE is a trace of thousands of ranks.
#include <QApplication>
#include <QDir>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTimer>
#include <cstdio>

#include "gui/app/dialogs.hpp"
#include "gui/app/main_window.hpp"
#include "gui/app/what_if_panel.hpp"
#include "tests/gui/wait.hpp"

using namespace stepcast::gui;
using stepcast::tests::wait_until;

namespace {
void settle() {
  for (int i = 0; i < 12; ++i) wait_until([] { return false; }, 25);
}
}  // namespace

int main(int argc, char** argv) {
  QApplication app(argc, argv);
  if (argc < 6) {
    std::fprintf(stderr,
                 "usage: stepcast-viewer-screenshots A B FOLDER SUFFIX dark|light [LARGE]\n");
    return 2;
  }
  const QString a = argv[1], b = argv[2], folder = argv[3], suffix = argv[4];
  QDir().mkpath(folder);
  QTemporaryDir home;
  MainWindow w(home.filePath("viewer.ini"));
  w.set_theme_now(QString(argv[5]) == "light" ? ThemeKind::light : ThemeKind::dark,
                  PaletteKind::standard);
  w.resize(1440, 900);
  w.show();
  int failures = 0;
  const auto shot = [&](const QString& name, QWidget* widget = nullptr) {
    settle();
    const QString path = folder + "/" + name + "-" + suffix + ".png";
    if (!(widget == nullptr ? &w : widget)->grab().save(path)) ++failures;
  };
  shot("empty");
  w.open({a});
  const auto is_derived = [&](int side) {
    const TraceDocument& d = w.workspace().document(side);
    return d.is_open() && !d.is_loading() && d.facts().lanes != nullptr;
  };
  if (!wait_until([&] { return is_derived(0); }, 120'000)) {
    std::fprintf(stderr, "%s was not read in two minutes\n", argv[1]);
    return 1;
  }
  shot("explore");
  const TimeRange whole = w.timeline().whole();
  w.timeline().set_view(
      {whole.start + whole.length() * 45 / 100, whole.start + whole.length() * 48 / 100});
  Area area;
  area.start = whole.start + whole.length() * 455 / 1000;
  area.end = whole.start + whole.length() * 470 / 1000;
  w.timeline().set_area(area);
  shot("area");
  w.timeline().set_area({});
  w.timeline().next_slice();
  w.timeline().next_slice();
  w.timeline().fit_selection();
  w.timeline().zoom_by(6);
  w.timeline().toggle_pin();
  w.show_dock("slice");
  shot("slice");
  w.timeline().toggle_pin();
  w.timeline().clear_selection();
  w.timeline().fit_all();
  for (const char* name : {"ops", "matrix", "communication", "notes", "import"}) {
    w.show_dock(name);
    shot(name);
  }
  w.set_order(
      RankOrder::slowness);  // the straggler first: its rows are what the next pictures are about
  w.show_dock("ranks");
  shot("ranks");
  w.actions_list()["critical"]->trigger();
  w.show_dock("critical");
  shot("critical");
  w.actions_list()["critical"]->trigger();
  w.set_overview_mode(OverviewMode::exposed);
  w.search_box().setText("name ~ \"tp\" and dur > 100us");
  w.show_dock("area");
  shot("heat-and-filter");
  w.search_box().clear();
  w.set_overview_mode(OverviewMode::memory);
  w.show_dock("ranks");
  shot("memory");
  w.set_overview_mode(OverviewMode::state);
  w.actions_list()["overview_follows"]->trigger();
  w.timeline().set_view(
      {whole.start + whole.length() * 40 / 100, whole.start + whole.length() * 50 / 100});
  shot("overview-follows");
  w.actions_list()["overview_follows"]->trigger();
  w.timeline().fit_all();
  w.set_order(RankOrder::store);
  w.open({b}, 1);
  if (!wait_until([&] { return is_derived(1) && w.compare().is_ready(); }, 120'000)) {
    std::fprintf(stderr, "%s was not compared in two minutes\n", argv[2]);
    return 1;
  }
  w.show_dock("compare");
  shot("compare-stacked");
  w.set_interleaved(true);
  for (int tab = 1; tab < w.compare_panel().tabs().count(); ++tab) {
    w.compare_panel().tabs().setCurrentIndex(tab);
    shot("compare-" + QString::number(tab));
  }
  w.compare_reports(
      {QFileInfo(a).dir().filePath("report.json"), QFileInfo(b).dir().filePath("report.json")});
  shot("reports");
  w.apply_layout("whatif");
  WhatIfPanel& what_if = w.what_if();
  what_if.queue().set_folder(home.filePath("runs"));
  what_if.load("llama3-8b-fsdp");
  what_if.form().set_value("/cluster/nodes", "4");
  what_if.run();
  what_if.form().set_value("/cluster/nic_Gbps", "100");
  what_if.run();
  const auto is_idle = [&] { return !what_if.queue().is_running(); };
  wait_until(is_idle, 60'000);
  shot("whatif");
  what_if.tabs().setCurrentIndex(1);
  shot("whatif-bars");
  what_if.scenario().clear_changes();
  what_if.run_sweep({"/cluster/nodes=1..64*2", "/strategy/bucket_MiB=25,200"});
  wait_until(is_idle, 120'000);
  what_if.tabs().setCurrentIndex(2);
  shot("whatif-sweep");
  KeySheet keys(w.actions_list(), &w);
  keys.show();
  shot("keys", &keys);
  keys.close();
  if (argc > 6) {
    w.apply_layout("explore");
    w.actions_list()["close_b"]->trigger();
    w.open({argv[6]});
    if (!wait_until([&] { return is_derived(0); }, 240'000)) {
      std::fprintf(stderr, "%s was not read in four minutes\n", argv[6]);
      return 1;
    }
    shot("large-explore");
    w.set_order(RankOrder::slowness);
    w.show_dock("ranks");
    shot("large-straggler");
    w.actions_list()["critical"]->trigger();
    w.show_dock("critical");
    shot("large-critical");
  }
  return failures == 0 ? 0 : 1;
}
