#include <QtTest>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/chart_data.hpp"
#include "gui/views/time_axis.hpp"
#include "gui/views/view_history.hpp"

using namespace stepcast;
using namespace stepcast::gui;

/// Pixel maths, ticks, histories and units: plain structs, no window.
class GeometryTest : public QObject {
  Q_OBJECT
 private slots:
  void time_and_pixel_are_inverse() {
    const TimeAxis axis{{1'000, 3'000}, 1000};  // 2 ns a pixel
    QCOMPARE(axis.x_of(1'000), 0.0);
    QCOMPARE(axis.x_of(2'000), 500.0);
    QCOMPARE(axis.t_of(250), Nanoseconds{1'500});
  }
  void zoom_keeps_the_anchor_under_the_pointer() {
    // Anchor at a quarter of the view; half the length: start = 400 - 0.25 * 400 = 300.
    const TimeRange view = zoomed({200, 1'000}, 0.5, 400, {0, 10'000});
    QCOMPARE(view.start, Nanoseconds{300});
    QCOMPARE(view.length(), Nanoseconds{400});
  }
  void zoom_stops_at_the_shortest_view() {
    const TimeRange view = zoomed({0, 1'000}, 1e-9, 500, {0, 1'000'000});
    QCOMPARE(view.length(), kShortestView);
    QVERIFY(view.contains(500));
  }
  void a_view_stays_within_trace_and_overscroll() {
    // 5 % of 10 000 = 500 on each side.
    QCOMPARE(panned({0, 1'000}, -100'000, {0, 10'000}).start, Nanoseconds{-500});
    QCOMPARE(panned({0, 1'000}, 100'000, {0, 10'000}).end, Nanoseconds{10'500});
    const TimeRange all = zoomed({0, 10'000}, 100, 5'000, {0, 10'000});
    QCOMPARE(all, (TimeRange{-500, 10'500}));
  }
  void fit_leaves_a_twentieth_on_each_side() {
    QCOMPARE(fitted({1'000, 2'000}, {0, 100'000}), (TimeRange{950, 2'050}));
  }

  void ticks_are_round_and_far_enough_apart() {
    // 1 ms over 1000 px, labels at least 90 px apart: 90 us rounds up to 100 us, so 10 labels at 0,
    // 100 ... 900 us.
    const auto ticks = ruler_ticks({{0, 1'000'000}, 1000}, 0, 90);
    QStringList labels;
    for (const Tick& tick : ticks)
      if (!tick.label.isEmpty()) labels << tick.label;
    QCOMPARE(labels.size(), 10);
    QCOMPARE(labels[0], QString("0 %1s").arg(QChar(0xB5)));
    QCOMPARE(labels[9], QString("900 %1s").arg(QChar(0xB5)));
    QCOMPARE(ticks[1].t, Nanoseconds{20'000});  // five minor ticks a label
  }
  void ticks_count_from_the_trace_not_from_the_clock() {
    const Nanoseconds origin = 1'700'000'000'123'456'789;
    const auto ticks = ruler_ticks({{origin, origin + 1'000}, 100}, origin, 50);
    QCOMPARE(ticks.front().t, origin);
    QVERIFY(ticks.front().label.startsWith("0 "));
  }

  void undo_returns_to_each_state() {
    ViewHistory history;
    for (const Nanoseconds start : {0, 10, 20}) history.record({{start, start + 5}, 0, -1, {}});
    QVERIFY(!history.can_redo());
    QCOMPARE(history.undo().time.start, Nanoseconds{10});
    QCOMPARE(history.undo().time.start, Nanoseconds{0});
    QVERIFY(!history.can_undo());
    QCOMPARE(history.redo().time.start, Nanoseconds{10});
    history.record({{99, 100}, 0, -1, {}});  // a new way forward forgets the old one
    QVERIFY(!history.can_redo());
    QCOMPARE(history.undo().time.start, Nanoseconds{10});
  }
  void a_turning_wheel_is_one_step_back() {
    ViewHistory history;
    history.record({{0, 100}, 0, -1, {}});
    for (const Nanoseconds end : {90, 80, 70}) history.record({{0, end}, 0, -1, {}}, true);
    QCOMPARE(history.undo().time.end, Nanoseconds{100});
    QVERIFY(!history.can_undo());
    history.redo();
    history.end_gesture();
    history.record({{0, 60}, 0, -1, {}}, true);  // another gesture is another step
    QCOMPARE(history.undo().time.end, Nanoseconds{70});
  }

  void times_read_in_four_digits() {
    QCOMPARE(time_text(0), QString("0 ns"));
    QCOMPARE(time_text(999), QString("999 ns"));
    QCOMPARE(time_text(1'234'567), QString("1.235 ms"));
    QCOMPARE(time_text(3.985e9), QString("3.985 s"));
    QCOMPARE(time_text(999'960'000), QString("1.000 s"));  // never "1000.0 ms"
    QCOMPARE(signed_time_text(-2'500'000), QString("-2.500 ms"));
    QCOMPARE(signed_time_text(2'500'000), QString("+2.500 ms"));
    QCOMPARE(bytes_text(1.5e9), QString("1.500 GB"));
    QCOMPARE(percent_text(0.1234), QString("12.3 %"));
    QCOMPARE(number_text(164301), QString("164.3 k"));
  }
  void axis_ticks_cover_the_range() {
    QCOMPARE(axis_ticks(0, 10, 5, false), (std::vector<double>{0, 2, 4, 6, 8, 10}));
    QCOMPARE(axis_ticks(1, 1000, 8, true).front(), 1.0);
    QCOMPARE(axis_ticks(1, 1000, 8, true).back(), 1000.0);
  }
  void a_waterfall_reaches_its_last_total() {
    ChartData c;
    c.kind = ChartKind::waterfall;
    c.labels = {"A", "x", "y", "B"};
    c.series.push_back({"", {}, {}, {10, 5, -3, 12}});
    const auto [low, high] = c.y_range();
    QCOMPARE(low, 0.0);
    QCOMPARE(high, 15.0);  // 10 + 5 is the peak
  }
  void every_category_has_a_colour_of_its_own_in_every_theme() {
    for (const ThemeKind kind : {ThemeKind::dark, ThemeKind::light})
      for (const PaletteKind palette : {PaletteKind::standard, PaletteKind::colour_blind}) {
        const Theme t = make_theme(kind, palette);
        for (int a = 0; a < kSliceCategories; ++a)
          for (int b = 0; b < a; ++b)
            QVERIFY2(
                t.category[static_cast<std::size_t>(a)] != t.category[static_cast<std::size_t>(b)],
                qPrintable(QString("%1 %2").arg(a).arg(b)));
        QVERIFY(qAbs(t.text.lightness() - t.base.lightness()) > 120);
      }
  }
};
QTEST_GUILESS_MAIN(GeometryTest)
#include "geometry_test.moc"
