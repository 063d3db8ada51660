#pragma once
#include <QDialog>
#include <QLineEdit>
#include <QListWidget>
#include <QTableWidget>

#include "gui/app/action_list.hpp"
#include "sim/timeline/store/trace_store.hpp"

namespace stepcast::gui {
/// The '?' sheet: every action with its keys; a double click on keys changes them.
class KeySheet : public QDialog {
  Q_OBJECT
 public:
  KeySheet(ActionList& actions, QWidget* parent);
  QTableWidget& table() { return *table_; }
  /// What the cell editor does: parses and binds; answers the problem or "".
  QString rebind(int row, const QString& keys);

 private:
  void fill();
  ActionList& actions_;
  QTableWidget* table_;
  QLineEdit* find_;
  bool is_filling_ = false;
};

/// A list that narrows while typing: commands, or ranks and streams.
class Palette : public QDialog {
  Q_OBJECT
 public:
  struct Entry {
    QString text, detail;
    std::function<void()> run;
  };
  Palette(std::vector<Entry> entries, const QString& hint, QWidget* parent);
  QLineEdit& find() { return *find_; }
  QListWidget& list() { return *list_; }
  void run_current();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void narrow(const QString& text);
  std::vector<Entry> entries_;
  QLineEdit* find_;
  QListWidget* list_;
};
/// The letters of `pattern` in order somewhere in `text`, whatever the case; a better match has a
/// lower score, -1 = none.
int fuzzy_score(const QString& pattern, const QString& text);
}  // namespace stepcast::gui
