#include <QClipboard>
#include <QDropEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QTemporaryDir>
#include <QWheelEvent>
#include <QtTest>

#include "gui/app/dialogs.hpp"
#include "gui/app/main_window.hpp"
#include "gui/app/what_if_panel.hpp"
#include "tests/gui/tiny_trace.hpp"
#include "tests/gui/wait.hpp"

using namespace stepcast;
using namespace stepcast::gui;
using stepcast::tests::wait_until;

/// The window driven as a person does: keys, mouse, wheel, drop, dialogs.
class WindowTest : public QObject {
  Q_OBJECT
  QTemporaryDir home_;
  QString a_, b_;
  std::unique_ptr<MainWindow> window_;

  void open_a() {
    window_->open({a_});
    QVERIFY(wait_until([this] { return is_derived(0); }));
  }
  void open_b() {
    window_->open({b_}, 1);
    QVERIFY(wait_until([this] { return is_derived(1) && window_->compare().is_ready(); }));
  }
  bool is_derived(int side) {
    const TraceDocument& d = window_->workspace().document(side);
    return d.is_open() && !d.is_loading() && d.facts().lanes != nullptr;
  }
  TimelineView& view() { return window_->timeline(); }
  QPoint centre_of(SliceRef slice) { return view().box_of(slice).center().toPoint(); }
  /// The first slice of that name.
  SliceRef slice_named(const char* name) {
    const auto& store = window_->workspace().a.trace();
    for (trace::SliceId s = 0; s < store.slices(); ++s)
      if (store.name(s) == name) return {0, s};
    return {};
  }
  void wheel(QWidget* on, const QPoint& at, int notches, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, on->mapToGlobal(at), {}, {0, notches * 120}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(on, &event);
  }

 private slots:
  void initTestCase() {
    a_ = tests::write_tiny_trace(home_, "a.json.gz", 1.25);
    b_ = tests::write_tiny_trace(home_, "b.json", 1.0);
  }
  void init() {
    QFile::remove(home_.filePath("viewer.ini"));
    for (const char* leftover : {"viewer.session.json", "viewer.session.json.autosave"})
      QFile::remove(home_.filePath(leftover));
    window_ = std::make_unique<MainWindow>(home_.filePath("viewer.ini"));
    window_->what_if().queue().set_folder(home_.filePath("runs"));
    window_->resize(1400, 900);
    window_->show();
    window_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window_.get()));
  }
  void cleanup() { window_.reset(); }

  void a_trace_opens_with_every_event() {
    open_a();
    const auto& store = window_->workspace().a.trace();
    QCOMPARE(store.slices(), std::size_t{3 * 4 * 4});
    QCOMPARE(store.ranks().size(), std::size_t{4});
    QCOMPARE(store.nodes().size(), std::size_t{2});
    QCOMPARE(window_->workspace().a.report().lost, std::int64_t{0});
    QVERIFY(view().layout_rows().height > 0);
    QVERIFY(window_->recent().front().endsWith("a.json.gz"));
  }
  void a_missing_trace_is_told_and_nothing_opens() {
    QSignalSpy failed(&window_->workspace().a, &TraceDocument::failed);
    window_->open({home_.filePath("nothing.json")});
    QVERIFY(wait_until([&] { return failed.count() == 1; }));
    QVERIFY(failed[0][0].toString().contains("nothing.json"));
    QVERIFY(!window_->workspace().a.is_open());
  }
  void keys_zoom_pan_fit_and_undo() {
    open_a();
    view().setFocus();
    const TimeRange all = view().view();
    QTest::keyClick(window_.get(), Qt::Key_W);
    const TimeRange closer = view().view();
    QVERIFY(closer.length() < all.length());
    QTest::keyClick(window_.get(), Qt::Key_D);
    QVERIFY(view().view().start > closer.start);
    QCOMPARE(view().view().length(), closer.length());
    QTest::keyClick(window_.get(), Qt::Key_0);
    QCOMPARE(view().view(), all);
    QTest::keyClick(window_.get(), Qt::Key_Backspace);
    QVERIFY(view().view().length() < all.length());
    QTest::keyClick(window_.get(), Qt::Key_Right, Qt::AltModifier);
    QCOMPARE(view().view(), all);
  }
  void ctrl_wheel_zooms_at_the_pointer() {
    open_a();
    const QPoint at(view().gutter() + 400, 200);
    const Nanoseconds under = view().axis().t_of(400);
    wheel(view().viewport(), at, 3, Qt::ControlModifier);
    QVERIFY(view().view().length() < view().whole().length());
    // The moment under the pointer stays there to a pixel.
    QVERIFY(qAbs(view().axis().x_of(under) - 400) < 1.5);
    const TimeRange zoomed_view = view().view();
    wheel(view().viewport(), at, 1, Qt::ShiftModifier);
    QVERIFY(view().view().start < zoomed_view.start);
  }
  void wheel_scrolls_rows() {
    open_a();
    view().change_row_height(30);
    QVERIFY(view().verticalScrollBar()->maximum() > 0);
    wheel(view().viewport(), {view().gutter() + 50, 200}, -1, Qt::NoModifier);
    QVERIFY(view().verticalScrollBar()->value() > 0);
  }
  void a_click_selects_and_the_panel_names_it() {
    open_a();
    const SliceRef backward = slice_named("backward");
    QTest::mouseClick(view().viewport(), Qt::LeftButton, {}, centre_of(backward));
    QCOMPARE(window_->workspace().selected(), backward);
    window_->show_dock("slice");
    QVERIFY(
        wait_until([&] { return window_->slice_panel().text().contains("args.micro_batch: 0"); }));
    QVERIFY(window_->slice_panel().text().contains("duration: 2.000 ms"));
    QTest::keyClick(window_.get(), Qt::Key_C);
    QVERIFY(QApplication::clipboard()->text().contains("name: backward"));
    QTest::keyClick(window_.get(), Qt::Key_Escape);
    QVERIFY(!window_->workspace().selected().is_set());
  }
  void slices_are_drawn_in_their_colour() {
    open_a();
    const QImage image = view().viewport()->grab().toImage();
    for (const char* name : {"forward", "grad_reduce", "adam"}) {
      const SliceRef s = slice_named(name);
      const QRectF box = view().box_of(s);
      const QColor wanted = theme().of(window_->workspace().a.trace().category(s.slice));
      // Right of the text, above its baseline.
      const QColor found = image.pixelColor(
          QPoint(static_cast<int>(box.right()) - 3, static_cast<int>(box.top()) + 2));
      QVERIFY2(found == wanted,
               qPrintable(QString("%1: %2 is not %3").arg(name, found.name(), wanted.name())));
    }
  }
  void period_and_comma_walk_along_the_lane() {
    open_a();
    view().select(slice_named("forward"));
    QTest::keyClick(window_.get(), Qt::Key_Period);
    QCOMPARE(window_->workspace().a.trace().name(window_->workspace().selected().slice),
             std::string_view("backward"));
    QTest::keyClick(window_.get(), Qt::Key_Comma);
    QCOMPARE(window_->workspace().selected(), slice_named("forward"));
  }
  void brackets_follow_the_arrow_and_back() {
    open_a();
    view().select(slice_named("forward"));
    const auto& store = window_->workspace().a.trace();
    QTest::keyClick(window_.get(), Qt::Key_BracketRight);
    const SliceRef there = window_->workspace().selected();
    QCOMPARE(store.ranks()[store.rank_of(there.slice)].rank, 1);
    QTest::keyClick(window_.get(), Qt::Key_BracketLeft);
    QCOMPARE(window_->workspace().selected(), slice_named("forward"));
  }
  void a_drag_marks_an_area_that_snaps_and_is_summed() {
    open_a();
    const QRectF box = view().box_of(slice_named("forward"));
    const QPoint from(static_cast<int>(box.left()) + 3, static_cast<int>(box.center().y())),
        to(static_cast<int>(box.right()) - 3, static_cast<int>(box.center().y()));
    QTest::mousePress(view().viewport(), Qt::LeftButton, {}, from);
    QTest::mouseMove(view().viewport(), (from + to) / 2);
    QTest::mouseMove(view().viewport(), to);
    QTest::mouseRelease(view().viewport(), Qt::LeftButton, {}, to);
    // Both edges snap to the slice: 0 to 1 ms.
    QCOMPARE(window_->workspace().area().end - window_->workspace().area().begin,
             Nanoseconds{1'000'000});
    window_->show_dock("area");
    TableModel& sums = window_->area_panel().sums().table_model();
    QVERIFY(wait_until([&] { return sums.rowCount() == 1; }));
    QCOMPARE(sums.index(0, 0).data().toString(), QString("compute"));
    QCOMPARE(sums.row_at(0).cells[2].value, 1e6);
  }
  void shift_drag_pans_and_middle_drag_zooms() {
    open_a();
    QTest::keyClick(window_.get(), Qt::Key_W);
    QTest::keyClick(window_.get(), Qt::Key_W);
    const TimeRange before = view().view();
    const QPoint from(view().gutter() + 500, 200);
    QTest::mousePress(view().viewport(), Qt::LeftButton, Qt::ShiftModifier, from);
    QMouseEvent move(QEvent::MouseMove, from - QPoint(100, 0),
                     view().viewport()->mapToGlobal(from - QPoint(100, 0)), Qt::NoButton,
                     Qt::LeftButton, Qt::ShiftModifier);
    QApplication::sendEvent(view().viewport(), &move);
    QTest::mouseRelease(view().viewport(), Qt::LeftButton, Qt::ShiftModifier,
                        from - QPoint(100, 0));
    QVERIFY(view().view().start > before.start);
    const Nanoseconds low = view().axis().t_of(200), high = view().axis().t_of(400);
    QTest::mousePress(view().viewport(), Qt::MiddleButton, {}, {view().gutter() + 200, 200});
    QTest::mouseRelease(view().viewport(), Qt::MiddleButton, {}, {view().gutter() + 400, 200});
    QCOMPARE(view().view(), (TimeRange{low, high}));
  }
  void search_dims_counts_and_steps() {
    open_a();
    QTest::keyClick(window_.get(), Qt::Key_Slash);
    QVERIFY(window_->search_box().hasFocus());
    QTest::keyClicks(&window_->search_box(), "name = grad_reduce and rank = 3");
    QVERIFY(wait_until([&] { return window_->workspace().hits().total == 3; }));
    QTest::keyClick(&window_->search_box(), Qt::Key_Return);
    QVERIFY(window_->workspace().selected().is_set());
    QCOMPARE(window_->workspace().a.trace().name(window_->workspace().selected().slice),
             std::string_view("grad_reduce"));
    QTest::keyClick(&window_->search_box(), Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(&window_->search_box(), "durr > 1ms");
    QVERIFY(window_->search_state().toolTip().contains("durr"));
  }
  void pins_and_hidden_streams_change_the_rows() {
    open_a();
    const int rows = static_cast<int>(view().layout_rows().rows.size());
    view().select(slice_named("grad_reduce"));
    QTest::keyClick(window_.get(), Qt::Key_P);
    QCOMPARE(view().scene().sides[0].choice.pinned.size(), std::size_t{1});
    QTest::keyClick(window_.get(), Qt::Key_H);
    QCOMPARE(static_cast<int>(view().layout_rows().rows.size()), rows - 1);
    QTest::keyClick(window_.get(), Qt::Key_H, Qt::ShiftModifier);
    QCOMPARE(static_cast<int>(view().layout_rows().rows.size()), rows);
  }
  void the_straggler_leads_the_ranks() {
    open_a();
    window_->show_dock("ranks");
    TableModel& ranks = window_->rank_panel().ranks().table_model();
    QVERIFY(wait_until([&] { return ranks.rowCount() == 4; }));
    QCOMPARE(ranks.index(0, 0).data().toString(), QString("rank 3"));
  }
  void a_drop_opens_and_a_drop_below_compares() {
    const auto drop = [this](const QString& path, const QPoint& at) {
      QMimeData mime;
      mime.setUrls({QUrl::fromLocalFile(path)});
      QDragEnterEvent enter(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
      QApplication::sendEvent(window_.get(), &enter);
      QVERIFY(enter.isAccepted());
      QDropEvent event(at, Qt::CopyAction, &mime, Qt::LeftButton, {});
      QApplication::sendEvent(window_.get(), &event);
    };
    drop(a_, {300, 100});
    QVERIFY(wait_until([this] { return is_derived(0); }));
    drop(b_, {300, window_->height() - 50});
    QVERIFY(wait_until([this] { return is_derived(1) && window_->compare().is_ready(); }));
    QVERIFY(window_->timeline(1).isVisible());
  }
  void dialogs_ask_the_chooser() {
    window_->chooser().open_files = [this](const QString&) { return QStringList{a_}; };
    window_->actions_list()["open"]->trigger();
    QVERIFY(wait_until([this] { return is_derived(0); }));
    window_->chooser().save_file = [this](const QString&, const QString& name, const QString&) {
      return home_.filePath(name);
    };
    for (const char* id : {"export_png", "export_csv", "export_report", "export_trace"})
      window_->actions_list()[id]->trigger();
    QVERIFY(QImage(home_.filePath("timeline.png")).width() > 1000);
    QFile csv(home_.filePath("slices.csv"));
    QVERIFY(csv.open(QIODevice::ReadOnly));
    QCOMPARE(csv.readAll().count('\n'), 1 + 48);
    QFile report(home_.filePath("report.html"));
    QVERIFY(report.open(QIODevice::ReadOnly));
    QVERIFY(report.readAll().contains("grad_reduce"));
    QVERIFY(window_->export_picture(home_.filePath("t.svg")).isEmpty());
    // What was exported opens again, with every slice of the view.
    window_->open({home_.filePath("part.json.gz")});
    QVERIFY(wait_until([this] { return is_derived(0); }));
    QCOMPARE(window_->workspace().a.trace().slices(), std::size_t{48});
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
  void the_session_brings_everything_back() {
    open_a();
    view().set_view({view().whole().start + 1'000'000, view().whole().start + 3'000'000});
    view().select(slice_named("grad_reduce"));
    view().toggle_pin();
    QTest::keyClick(window_.get(), Qt::Key_M);
    window_->chooser().text = [](const QString&, const QString&, const QString&) {
      return QString("slow here");
    };
    QTest::keyClick(window_.get(), Qt::Key_M, Qt::ShiftModifier);
    const TimeRange seen = view().view();
    window_->autosave_now();
    // A crash: the next window starts from what was autosaved.
    window_ = std::make_unique<MainWindow>(home_.filePath("viewer.ini"));
    window_->resize(1400, 900);
    window_->show();
    QVERIFY(window_->restore_last_session());
    QVERIFY(wait_until([this] { return is_derived(0); }));
    QCOMPARE(view().view(), seen);
    QCOMPARE(view().scene().sides[0].choice.pinned.size(), std::size_t{1});
    QCOMPARE(window_->workspace().bookmarks.size(), std::size_t{1});
    QCOMPARE(window_->workspace().notes.front().text, std::string("slow here"));
  }
  void keys_are_listed_and_rebound() {
    KeySheet sheet(window_->actions_list(), window_.get());
    QCOMPARE(sheet.table().rowCount(), static_cast<int>(action_specs().size()));
    int row = -1;
    for (int r = 0; r < sheet.table().rowCount(); ++r)
      if (QString(action_specs()[static_cast<std::size_t>(r)].id) == "pin") row = r;
    QVERIFY(sheet.rebind(row, "W").contains("Zoom in"));  // taken
    QCOMPARE(sheet.rebind(row, "Ctrl+Shift+J"), QString());
    QCOMPARE(window_->actions_list()["pin"]->shortcut(), QKeySequence("Ctrl+Shift+J"));
    window_->actions_list().reset_all();
    QCOMPARE(window_->actions_list()["pin"]->shortcut(), QKeySequence("P"));
  }
  void no_two_actions_share_a_key() {
    QHash<QString, QString> owner;
    for (const ActionSpec& spec : action_specs())
      for (const QKeySequence& key : ActionList::default_keys(spec)) {
        const QString text = key.toString();
        QVERIFY2(!text.isEmpty(), spec.id);
        QVERIFY2(!owner.contains(text),
                 qPrintable(text + ": " + owner.value(text) + " and " + spec.id));
        owner.insert(text, spec.id);
      }
  }
  void the_palette_finds_commands_by_letters() {
    QVERIFY(fuzzy_score("crpath", "Show: Critical path") >= 0);
    QVERIFY(fuzzy_score("xyz", "Show: Critical path") < 0);
    window_->actions_list()["palette"]->trigger();
    auto* palette = window_->findChild<Palette*>();
    QVERIFY(palette != nullptr);
    QTest::keyClicks(&palette->find(), "colourblind");
    palette->run_current();
    QVERIFY(theme().palette_kind == PaletteKind::colour_blind);
    window_->set_theme_now(ThemeKind::dark, PaletteKind::standard);
  }
};
QTEST_MAIN(WindowTest)
#include "window_test.moc"
