#include <QApplication>
#include <QCommandLineParser>
#include <QFileInfo>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "gui/app/main_window.hpp"

namespace {
/// Help is text: it needs no display, and a machine without one shall give it.
bool asks_for_help(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](const char* word) {
    const std::string_view text = word;
    return text == "-h" || text == "--help" || text == "--help-all";
  });
}
}  // namespace

int main(int argc, char** argv) {
  const std::unique_ptr<QCoreApplication> app = asks_for_help(argc, argv)
                                                    ? std::make_unique<QCoreApplication>(argc, argv)
                                                    : std::make_unique<QApplication>(argc, argv);
  QCoreApplication::setOrganizationName("stepcast");
  QCoreApplication::setApplicationName("viewer");
  QCommandLineParser parser;
  parser.setApplicationDescription(
      "Shows measured and simulated timelines of distributed training, and compares them.");
  parser.addHelpOption();
  parser.addPositionalArgument("trace",
                               "Trace files or folders: stepcast, Chrome/Perfetto JSON, PyTorch "
                               "profiler; plain, .gz or .zst. Several are merged, one rank each. "
                               "Others go through stepcast import: an SQLite export of Nsight "
                               "Systems, Chakra, GOAL, workloads.",
                               "[trace...]");
  const QCommandLineOption compare({"b", "compare"}, "Open this trace as B and compare.", "trace");
  const QCommandLineOption light("light", "Light theme.");
  const QCommandLineOption fresh("fresh", "Do not restore the last session.");
  const QCommandLineOption settings(
      "settings", "Keep settings and session beside this file in place of the user's own.", "file");
  parser.addOptions({compare, light, fresh, settings});
  parser.process(*app);  // ends here where help is asked for

  for (const QString& path : parser.positionalArguments() + parser.values(compare))
    if (!QFileInfo::exists(path)) {
      std::fprintf(stderr, "stepcast-viewer: %s: no such file or folder\n", qPrintable(path));
      return 2;
    }
  stepcast::gui::MainWindow window(parser.value(settings));
  if (parser.isSet(light))
    window.set_theme_now(stepcast::gui::ThemeKind::light, stepcast::gui::theme().palette_kind);
  window.show();
  if (!parser.positionalArguments().isEmpty()) {
    window.open(parser.positionalArguments());
    window.open(parser.values(compare), 1);
  } else if (!parser.isSet(fresh)) {
    window.restore_last_session();
  }
  return QApplication::exec();
}
