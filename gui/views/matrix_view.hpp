#pragma once
#include <QString>
#include <QWidget>
#include <functional>
#include <vector>

namespace stepcast::gui {
/// A grid of figures as colours: steps x ranks, or ranks x ranks. Values are drawn largest wins
/// where cells are below a pixel.
struct MatrixData {
  QString title, note, row_title, column_title;
  std::size_t rows = 0, columns = 0;
  std::vector<double> value;  // row-major; NaN = nothing there
  double low = 0, high = 1;   // ends of the colour scale
  bool is_diverging = false;  // around the middle of low and high
  std::vector<QString> row_labels, column_labels;
  std::function<QString(std::size_t row, std::size_t column)> text;  // what a cell says
  QString low_text, high_text;                                       // ends of the legend
  QString empty_text = "Nothing to show";
};

class MatrixView : public QWidget {
  Q_OBJECT
 public:
  explicit MatrixView(QWidget* parent = nullptr);
  void set_matrix(MatrixData matrix);
  const MatrixData& matrix() const { return data_; }
  QRectF cell_box(std::size_t row, std::size_t column) const;
  QSize sizeHint() const override { return {500, 260}; }
  QSize minimumSizeHint() const override { return {160, 90}; }
  void render_into(QPainter& painter, const QSize& size);

 signals:
  void cell_chosen(int row, int column);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;

 private:
  QRectF plot(const QSize& size) const;
  bool cell_at(const QPointF& at, std::size_t& row, std::size_t& column) const;
  QColor colour_of(double value) const;
  MatrixData data_;
  int chosen_row_ = -1, chosen_column_ = -1;
};
}  // namespace stepcast::gui
