#pragma once
#include <QObject>
#include <QString>
#include <QStringList>
#include <map>
#include <vector>

#include "sim/core/result.hpp"

namespace stepcast::gui {
/// One thing of a scenario that the form offers. Anything else is reached by its JSON pointer.
struct ScenarioField {
  QString group, label, pointer, unit, tip;
  QStringList choices;  // empty: a number or text
  QString fallback;     // what holds where neither scenario nor preset says anything
};
const std::vector<ScenarioField>& scenario_fields();

/// A scenario as its files state it, and what the user changed in the form. The files are never
/// written.
class ScenarioDocument : public QObject {
  Q_OBJECT
 public:
  explicit ScenarioDocument(QObject* parent = nullptr);
  /// A file, or the name of a bundled job. Answers the problems, or "".
  QString load(const QString& scenario);
  const QString& scenario() const { return scenario_; }
  const QString& description() const { return description_; }

  /// The value that holds without changes, as text, and where it comes from ("scenario", "preset
  /// dgx-h100-ib400", "default").
  struct Base {
    QString text, source;
  };
  Base base(const QString& pointer) const;
  /// Values that a report of the unchanged scenario found (parallel.dp and the like).
  void learn_defaults(const std::map<QString, QString>& values) { learned_ = values; }

  const std::map<QString, QString>& changes() const { return changes_; }
  /// An empty text, or the base value, takes the change back.
  void set_change(const QString& pointer, const QString& text);
  void clear_changes();
  /// The --set texts of the changes.
  QStringList settings() const;
  static QStringList settings_of(const std::map<QString, QString>& changes);

 signals:
  void loaded();
  void changed();

 private:
  QString scenario_, description_;
  std::string merged_;                      // JSON text of the scenario with its includes
  std::map<QString, std::string> presets_;  // "model", "cluster", "strategy" -> JSON text
  std::map<QString, QString> preset_names_, changes_, learned_;
};
}  // namespace stepcast::gui
