#pragma once
#include <QTemporaryDir>
#include <QtTest>
#include <memory>

#include "gui/app/dialogs.hpp"
#include "gui/app/main_window.hpp"
#include "gui/app/what_if_panel.hpp"
#include "tests/gui/tiny_trace.hpp"
#include "tests/gui/wait.hpp"

namespace stepcast::tests {
/// A window with a home of its own before each test, and two tiny traces: A, whose rank 3 is slow,
/// and B.
class WindowFixture : public QObject {
  Q_OBJECT
 protected:
  QTemporaryDir home_;
  QString a_, b_;
  std::unique_ptr<gui::MainWindow> window_;

  void open_a() {
    window_->open({a_});
    QVERIFY(wait_until([this] { return is_derived(0); }));
  }
  void open_b() {
    window_->open({b_}, 1);
    QVERIFY(wait_until([this] { return is_derived(1) && window_->compare().is_ready(); }));
  }
  bool is_derived(int side) {
    const gui::TraceDocument& d = window_->workspace().document(side);
    return d.is_open() && !d.is_loading() && d.facts().lanes != nullptr;
  }
  gui::TimelineView& view() { return window_->timeline(); }
  QPoint centre_of(gui::SliceRef slice) { return view().box_of(slice).center().toPoint(); }
  /// The first slice of that name.
  gui::SliceRef slice_named(const char* name) {
    const auto& store = window_->workspace().a.trace();
    for (trace::SliceId s = 0; s < store.slices(); ++s)
      if (store.name(s) == name) return {0, s};
    return {};
  }

 private slots:
  void initTestCase() {
    a_ = write_tiny_trace(home_, "a.json.gz", 1.25);
    b_ = write_tiny_trace(home_, "b.json", 1.0);
  }
  void init() {
    QFile::remove(home_.filePath("viewer.ini"));
    for (const char* leftover : {"viewer.session.json", "viewer.session.json.autosave"})
      QFile::remove(home_.filePath(leftover));
    window_ = std::make_unique<gui::MainWindow>(home_.filePath("viewer.ini"));
    window_->what_if().queue().set_folder(home_.filePath("runs"));
    window_->resize(1400, 900);
    window_->show();
    window_->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(window_.get()));
  }
  void cleanup() { window_.reset(); }
};
}  // namespace stepcast::tests
