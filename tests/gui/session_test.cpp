#include "tests/gui/window_fixture.hpp"

using namespace stepcast;
using namespace stepcast::gui;
using stepcast::tests::wait_until;

/// What stays: sessions, exports, and the keys that a person changed.
class SessionTest : public stepcast::tests::WindowFixture {
  Q_OBJECT
 private slots:
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
QTEST_MAIN(SessionTest)
#include "session_test.moc"
