#include <QScrollBar>

#include "tests/gui/window_fixture.hpp"

using namespace stepcast;
using namespace stepcast::gui;
using stepcast::tests::wait_until;

/// Many ranks at once: the overview over a part of time, memory as heat, and the minimap.
class OverviewTest : public stepcast::tests::WindowFixture {
  Q_OBJECT
  QRgb overview_pixel(double share_of_time, double share_of_rows) {
    OverviewView& view = window_->overview();
    const QImage image = view.grab().toImage();
    const double dpr = image.devicePixelRatio();
    const double x = OverviewView::kLeft + view.strip_width() * share_of_time,
                 y = OverviewView::kTop +
                     (view.height() - OverviewView::kTop - OverviewView::kBottom) * share_of_rows;
    return image.pixel(static_cast<int>(x * dpr), static_cast<int>(y * dpr));
  }
  QString write(const QString& name, const QByteArray& events) {
    QFile file(home_.filePath(name));
    if (!file.open(QIODevice::WriteOnly)) return {};
    file.write("{\"traceEvents\":[" + events + "]}");
    return file.fileName();
  }

 private slots:
  void the_overview_follows_the_view_when_asked() {
    open_a();
    OverviewView& overview = window_->overview();
    QCOMPARE(overview.shown(), view().whole());
    window_->actions_list()["overview_follows"]->trigger();
    // adam of the first step: 3.8 to 4 ms on every rank, nothing else beside it.
    const Nanoseconds begin = view().whole().start;
    view().set_view({begin + 3'820'000, begin + 3'980'000});
    QCOMPARE(overview.shown(), view().view());
    QVERIFY(wait_until([&] { return overview.is_sharp(); }));
    const QRgb adam = theme().of(SliceCategory::optimizer).rgb();
    for (const double rank : {0.2, 0.45, 0.7, 0.95})
      QCOMPARE(QColor(overview_pixel(0.5, rank)).name(), QColor(adam).name());
    // A wheel notch leaves the part: the timeline's view grows beyond it.
    const TimeRange before = view().view();
    emit overview.view_dragged({before.start - 100'000, before.end + 100'000});
    QVERIFY(view().view().length() > before.length());
    window_->actions_list()["overview_follows"]->trigger();
    QCOMPARE(overview.shown(), view().whole());
  }
  void a_straggler_is_marked_at_its_row() {
    open_a();  // rank 3, the last of four, is slow
    window_->set_overview_mode(OverviewMode::state);
    const OverviewView& overview = window_->overview();
    const QImage image = window_->overview().grab().toImage();
    const double height = overview.height() - OverviewView::kTop - OverviewView::kBottom;
    for (int row = 0; row < 4; ++row) {
      const int y = static_cast<int>(OverviewView::kTop + (row + 0.5) * height / 4);
      QCOMPARE(image.pixelColor(OverviewView::kLeft - 5, y) == theme().slower, row == 3);
    }
  }
  void memory_is_shown_as_heat_of_the_fullest_rank() {
    // Rank 0 holds 1 GB, then the most that any holds; rank 1 holds nothing from its start.
    const QString path = write(
        "memory.json", R"({"ph":"M","name":"process_name","pid":0,"args":{"name":"rank 0"}},)"
                       R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"rank 1"}},)"
                       R"({"ph":"X","name":"k","cat":"compute","pid":0,"tid":7,"ts":0,"dur":1000},)"
                       R"({"ph":"X","name":"k","cat":"compute","pid":1,"tid":7,"ts":0,"dur":1000},)"
                       R"({"ph":"C","name":"memory","pid":0,"ts":0,"args":{"allocated":1e9}},)"
                       R"({"ph":"C","name":"memory","pid":0,"ts":500,"args":{"allocated":8e9}},)"
                       R"({"ph":"C","name":"memory","pid":1,"ts":0,"args":{"allocated":0}})");
    window_->open({path});
    QVERIFY(wait_until([this] { return is_derived(0); }));
    QCOMPARE(window_->workspace().a.trace().ranks().size(), std::size_t{2});
    window_->set_overview_mode(OverviewMode::memory);
    QCOMPARE(QColor(overview_pixel(0.75, 0.25)).name(), theme().heat(1).name());
    QCOMPARE(QColor(overview_pixel(0.25, 0.25)).name(), theme().heat(0.125).name());
    QCOMPARE(QColor(overview_pixel(0.75, 0.75)).name(), theme().heat(0).name());
  }
  void the_minimap_scrolls_thousands_of_rows() {
    QByteArray events;
    for (int rank = 0; rank < 300; ++rank)
      events += QString(R"(%1{"ph":"M","name":"process_name","pid":%2,"args":{"name":"rank %2"}},)"
                        R"({"ph":"X","name":"k","cat":"compute","pid":%2,"tid":7,"ts":0,"dur":9})")
                    .arg(rank == 0 ? "" : ",")
                    .arg(rank)
                    .toUtf8();
    window_->open({write("many.json", events)});
    QVERIFY(wait_until([this] { return is_derived(0); }));
    MinimapView& minimap = view().minimap();
    QVERIFY(minimap.isVisible());
    QCOMPARE(minimap.height(), view().viewport()->height());
    QTest::mouseClick(&minimap, Qt::LeftButton, {}, {20, minimap.height() - 2});
    QCOMPARE(view().verticalScrollBar()->value(), view().verticalScrollBar()->maximum());
    QTest::mouseClick(&minimap, Qt::LeftButton, {}, {20, 1});
    QCOMPARE(view().verticalScrollBar()->value(), 0);
    // Every rank computes all the time.
    const QColor middle = minimap.grab().toImage().pixelColor(20, minimap.height() / 4);
    const QColor compute = theme().of(SliceCategory::compute);
    QVERIFY2(middle.blue() > middle.red() && middle.hue() - compute.hue() < 20,
             qPrintable(middle.name()));
    // A trace that fits has no need of it.
    open_a();
    QVERIFY(!minimap.isVisible());
  }
};
QTEST_MAIN(OverviewTest)
#include "overview_test.moc"
