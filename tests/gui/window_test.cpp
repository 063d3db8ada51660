#include <QClipboard>
#include <QScrollBar>
#include <QWheelEvent>

#include "tests/gui/window_fixture.hpp"

using namespace stepcast;
using namespace stepcast::gui;
using stepcast::tests::wait_until;

/// One trace driven as a person does: opened, then keys, mouse and wheel.
class WindowTest : public stepcast::tests::WindowFixture {
  Q_OBJECT
  void wheel(QWidget* on, const QPoint& at, int notches, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, on->mapToGlobal(at), {}, {0, notches * 120}, Qt::NoButton, modifiers,
                      Qt::NoScrollPhase, false);
    QApplication::sendEvent(on, &event);
  }

 private slots:
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
  void a_file_of_another_format_is_imported_first() {
    if (SimulationQueue::find_program().isEmpty()) QSKIP("the stepcast program is not built");
    QFile goal(home_.filePath("two.goal"));
    QVERIFY(goal.open(QIODevice::WriteOnly));
    goal.write(
        "num_ranks 2\n"
        "rank 0 {\nl1: calc 1000\nl2: send 4096b to 1 tag 5\nl2 requires l1\n}\n"
        "rank 1 {\nl1: recv 4096b from 0 tag 5\nl2: calc 2000\nl2 requires l1\n}\n");
    goal.close();
    window_->open({goal.fileName()});
    QVERIFY(window_->workspace().a.is_loading());
    QVERIFY(wait_until([this] { return is_derived(0); }));
    const auto& store = window_->workspace().a.trace();
    QCOMPARE(store.ranks().size(), std::size_t{2});
    QCOMPARE(store.slices(), std::size_t{4});
    // The session, the recent list and the title keep what the person named.
    QCOMPARE(window_->workspace().a.paths(), QStringList{goal.fileName()});
    QCOMPARE(window_->workspace().a.title(), QString("two.goal"));
  }
  void what_nobody_reads_is_told_with_the_known_formats() {
    if (SimulationQueue::find_program().isEmpty()) QSKIP("the stepcast program is not built");
    QFile text(home_.filePath("letter.txt"));
    QVERIFY(text.open(QIODevice::WriteOnly));
    text.write("Dear reader,\n");
    text.close();
    QSignalSpy failed(&window_->workspace().a, &TraceDocument::failed);
    window_->open({text.fileName()});
    QVERIFY(wait_until([&] { return failed.count() == 1; }));
    QVERIFY2(failed[0][0].toString().contains("nsys"), qPrintable(failed[0][0].toString()));
    QVERIFY(!window_->workspace().a.is_loading());
  }
  void an_import_can_be_stopped() {
    // A program that never ends in the place of stepcast.
    QFile slow(home_.filePath("slow.sh"));
    QVERIFY(slow.open(QIODevice::WriteOnly));
    slow.write("#!/bin/sh\nexec sleep 100\n");
    slow.close();
    slow.setPermissions(QFile::ReadOwner | QFile::ExeOwner);
    const QByteArray former = qgetenv("STEPCAST");
    qputenv("STEPCAST", slow.fileName().toUtf8());
    QSignalSpy failed(&window_->workspace().a, &TraceDocument::failed);
    QElapsedTimer watch;
    watch.start();
    window_->open({slow.fileName()});
    QVERIFY(window_->workspace().a.is_loading());
    QTest::keyClick(window_.get(), Qt::Key_Period, Qt::ControlModifier);
    qputenv("STEPCAST", former);
    QCOMPARE(failed.count(), 1);
    QVERIFY(!window_->workspace().a.is_loading());
    QVERIFY(watch.elapsed() < 5000);
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
};
QTEST_MAIN(WindowTest)
#include "window_test.moc"
