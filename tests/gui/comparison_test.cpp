#include <QDropEvent>
#include <QMimeData>

#include "tests/gui/window_fixture.hpp"

using namespace stepcast;
using namespace stepcast::gui;
using stepcast::tests::wait_until;

/// Two traces in one window, and scenarios that are simulated and opened as the second.
class ComparisonTest : public stepcast::tests::WindowFixture {
  Q_OBJECT
  void drop(const QStringList& paths, const QPoint& at) {
    QMimeData mime;
    QList<QUrl> urls;
    for (const QString& path : paths) urls << QUrl::fromLocalFile(path);
    mime.setUrls(urls);
    QDragEnterEvent enter(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
    QApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent event(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
    QApplication::sendEvent(window_.get(), &event);
  }

 private slots:
  void a_drop_opens_and_a_drop_below_compares() {
    drop({a_}, {300, 100});
    QVERIFY(wait_until([this] { return is_derived(0); }));
    drop({b_}, {300, window_->height() - 50});
    QVERIFY(wait_until([this] { return is_derived(1) && window_->compare().is_ready(); }));
    QVERIFY(window_->timeline(1).isVisible());
  }
  void two_traces_are_matched_and_linked() {
    open_a();
    open_b();
    QCOMPARE(window_->compare().facts().match->pairs, std::int64_t{48});
    QTest::keyClick(window_.get(), Qt::Key_W);
    QCOMPARE(window_->timeline(1).view(), view().view());
    const SliceRef backward = slice_named("backward");
    view().select(backward);
    const SliceRef partner = window_->compare().partner_of(backward);
    QCOMPARE(window_->workspace().b.trace().name(partner.slice), std::string_view("backward"));
    QCOMPARE(window_->timeline(1).selected().slice, partner.slice);
    // A's step waits 0.5 ms for rank 3, B's does not.
    const auto& w = window_->compare().facts().waterfall;
    double sum = 0;
    for (const auto& bar : w.bars) sum += bar.seconds;
    QVERIFY(qAbs(sum - (w.step_b - w.step_a)) < 1e-9);
    window_->set_interleaved(true);
    QVERIFY(!window_->timeline(1).isVisible());
    int deltas = 0;
    for (const TimelineRow& row : view().layout_rows().rows) deltas += row.kind == RowKind::delta;
    QCOMPARE(deltas, 4);
    window_->actions_list()["close_b"]->trigger();
    QCOMPARE(view().scene().sides.size(), std::size_t{1});
  }
  void a_swap_exchanges_the_traces() {
    open_a();
    open_b();
    window_->actions_list()["swap"]->trigger();
    QVERIFY(wait_until(
        [this] { return is_derived(0) && is_derived(1) && window_->compare().is_ready(); }));
    QCOMPARE(window_->workspace().a.paths(), QStringList{b_});
    QCOMPARE(window_->workspace().b.paths(), QStringList{a_});
    QCOMPARE(window_->compare().facts().match->pairs, std::int64_t{48});
  }
  void a_scenario_runs_against_its_base_and_opens_as_b() {
    if (SimulationQueue::find_program().isEmpty()) QSKIP("the stepcast program is not built");
    open_a();
    WhatIfPanel& panel = window_->what_if();
    QCOMPARE(panel.load("llama3-8b-fsdp"), QString());
    QCOMPARE(panel.scenario().base("/cluster/nodes").text, QString("1"));
    QCOMPARE(panel.scenario().base("/cluster/gpus_per_node").source,
             QString("preset dgx-h100-ib400"));
    panel.form().set_value("/cluster/nodes", "2");
    QCOMPARE(panel.scenario().settings(), QStringList{"/cluster/nodes=2"});
    panel.run();
    QVERIFY(wait_until([&] { return !panel.queue().is_running(); }, 120'000));
    QCOMPARE(panel.queue().runs().size(), std::size_t{2});
    for (const SimulationRun& run : panel.queue().runs())
      QVERIFY2(run.state == RunState::done, qPrintable(run.message));
    QCOMPARE(panel.queue().runs()[0].figures.at("gpus"), 8.0);
    QCOMPARE(panel.queue().runs()[1].figures.at("gpus"), 16.0);
    panel.open_result(panel.queue().runs()[1].id, 1);
    QVERIFY(wait_until([this] { return is_derived(1); }));
    QVERIFY(window_->workspace().b.trace().slices() > 0);
  }
  void a_refused_scenario_keeps_its_message() {
    if (SimulationQueue::find_program().isEmpty()) QSKIP("the stepcast program is not built");
    WhatIfPanel& panel = window_->what_if();
    panel.load("llama3-8b-fsdp");
    panel.form().set_value("/parallel/tp", "3");
    panel.run();
    QVERIFY(wait_until([&] { return !panel.queue().is_running(); }, 120'000));
    const SimulationRun& run = panel.queue().runs().back();
    QVERIFY(run.state == RunState::failed);
    QVERIFY2(run.message.contains("tp"), qPrintable(run.message));
  }
  void a_sweep_is_drawn_and_a_running_one_can_be_stopped() {
    if (SimulationQueue::find_program().isEmpty()) QSKIP("the stepcast program is not built");
    WhatIfPanel& panel = window_->what_if();
    panel.load("llama3-8b-fsdp");
    panel.run_sweep({"/cluster/nodes=1,2"});
    QVERIFY(wait_until([&] { return !panel.queue().is_running(); }, 120'000));
    QCOMPARE(panel.chart().chart().series[0].y.size(), std::size_t{2});
    panel.run_sweep({"/cluster/nodes=1..64", "/run/seed=1..64"});
    QVERIFY(wait_until([&] { return panel.queue().is_running(); }));
    QElapsedTimer watch;
    watch.start();
    window_->actions_list()["stop_scenario"]->trigger();
    QVERIFY(watch.elapsed() < 2000);
    QVERIFY(!panel.queue().is_running());
    QVERIFY(panel.queue().runs().back().state == RunState::stopped);
  }
  void two_reports_are_compared_without_traces() {
    const auto report = [this](const QString& name, double compute, double dp) {
      QFile file(home_.filePath(name));
      if (!file.open(QIODevice::WriteOnly)) return QString();
      file.write(QString(R"({"stepcast":1,"kind":"step","step_time_s":{"p50":%1},)"
                         R"("samples_per_s":%2,"breakdown_s":{"compute":%3,"exposed_dp":%4}})")
                     .arg(compute + dp)
                     .arg(1 / (compute + dp))
                     .arg(compute)
                     .arg(dp)
                     .toUtf8());
      return file.fileName();
    };
    const QString a = report("a_report.json", 3, 1), b = report("b_report.json", 3.5, 0.25);
    drop({a, b}, {300, 100});
    QVERIFY(!window_->workspace().a.is_loading());  // reports are no traces
    // From 4 s over the largest change first, -0.75 s of DP and +0.5 s of compute, to 3.75 s.
    const ChartData& chart = window_->reports_panel().chart().chart();
    QVERIFY(wait_until([&] { return chart.series.size() == 1; }));
    QCOMPARE(chart.series[0].y, (std::vector<double>{4e9, -0.75e9, 0.5e9, 3.75e9}));
    QCOMPARE(chart.labels.front(), QString("A"));
    // A trace in place of a report is told as such.
    QVERIFY(window_->reports_panel().compare(a_, b).contains("a.json.gz"));
  }
};
QTEST_MAIN(ComparisonTest)
#include "comparison_test.moc"
