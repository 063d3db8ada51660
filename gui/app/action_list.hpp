#pragma once
#include <QAction>
#include <QHash>
#include <QObject>
#include <functional>
#include <vector>

class QSettings;
class QWidget;

namespace stepcast::gui {
/// One thing a user can do. Help, palette, menus, rebinding and tests are made from this list.
struct ActionSpec {
  const char* id;
  const char* group;
  const char* text;
  const char* keys;  // QKeySequence texts, "; " between alternatives; "" = none
  const char* tip;
  bool is_checkable = false;
};
const std::vector<ActionSpec>& action_specs();

/// The window's QActions with the user's own keys.
class ActionList : public QObject {
  Q_OBJECT
 public:
  ActionList(QWidget* window, QSettings& settings);
  QAction* operator[](const QString& id) const;
  void on(const QString& id, std::function<void()> handler);
  /// Gives an action other keys; answers which action already has one of them ("" = done).
  QString rebind(const QString& id, const QList<QKeySequence>& keys);
  void reset_all();
  static QList<QKeySequence> default_keys(const ActionSpec& spec);

 private:
  void load();
  QSettings& settings_;
  QHash<QString, QAction*> actions_;
};
/// "Ctrl+O, O": the keys of an action as people read them.
QString keys_text(const QAction& action);
}  // namespace stepcast::gui
