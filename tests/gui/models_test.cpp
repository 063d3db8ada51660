#include <QAbstractItemModelTester>
#include <QtTest>
#include <cmath>

#include "gui/models/table_model.hpp"

using namespace stepcast::gui;

namespace {
Table three_rows() {
  Table t;
  t.columns = {{"op"}, {"total", CellKind::time, "", true}, {"share", CellKind::percent}};
  t.rows = {{{"gemm", 2'000'000, 0.5}, 7},
            {{"all, reduce", 1'000'000, 0.25}, 8},
            {{"adam", "not stated", 0.125}, 9}};
  return t;
}
}  // namespace

class ModelsTest : public QObject {
  Q_OBJECT
 private slots:
  void the_model_keeps_the_item_model_contract() {
    TableModel model;
    const QAbstractItemModelTester tester(&model,
                                          QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.set_table(three_rows());
    model.sort(1, Qt::DescendingOrder);
    model.set_filter("a");
    model.sort(0, Qt::AscendingOrder);
    model.set_filter("");
    model.set_table({});
    QCOMPARE(model.rowCount(), 0);
  }
  void numbers_sort_as_numbers_and_remarks_stand_last_when_descending() {
    TableModel model;
    model.set_table(three_rows());
    model.sort(1, Qt::DescendingOrder);
    QCOMPARE(model.index(0, 0).data().toString(), QString("gemm"));
    QCOMPARE(model.index(0, 1).data().toString(), QString("2.000 ms"));
    QCOMPARE(model.index(2, 1).data().toString(), QString("not stated"));
    QCOMPARE(model.row_of(8), 1);
  }
  void a_persistent_index_follows_its_row() {
    TableModel model;
    model.set_table(three_rows());
    const QPersistentModelIndex adam = model.index(2, 0);
    model.sort(0, Qt::AscendingOrder);
    QCOMPARE(adam.data().toString(), QString("adam"));
    QCOMPARE(adam.row(), 0);
  }
  void the_filter_looks_at_every_cell() {
    TableModel model;
    model.set_table(three_rows());
    model.set_filter("12.5 %");
    QCOMPARE(model.rowCount(), 1);
    QCOMPARE(model.index(0, 0).data().toString(), QString("adam"));
  }
  void csv_quotes_and_keeps_full_precision() {
    TableModel model;
    model.set_table(three_rows());
    QCOMPARE(model.csv(), QString("op,total (ns),share (share)\ngemm,2000000,0.5\n\"all, "
                                  "reduce\",1000000,0.25\nadam,not stated,0.125\n"));
  }
  void bars_are_shares_of_the_largest() {
    TableModel model;
    model.set_table(three_rows());
    QCOMPARE(model.index(1, 1).data(TableModel::kBarRole).toDouble(), 0.5);
    QVERIFY(!model.index(2, 1).data(TableModel::kBarRole).isValid());
    QVERIFY(!model.index(0, 2).data(TableModel::kBarRole).isValid());
  }
};
QTEST_GUILESS_MAIN(ModelsTest)
#include "models_test.moc"
