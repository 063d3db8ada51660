#include <QHBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/app/rank_panels.hpp"
#include "gui/look/text.hpp"
#include "gui/models/trace_tables.hpp"

namespace stepcast::gui {
MatrixData step_matrix_data(const TraceFacts& facts, bool is_busy) {
  MatrixData m;
  m.empty_text = "Training steps are being found";
  if (!facts.matrix || !facts.steps) return m;
  const trace::StepMatrix& s = *facts.matrix;
  m.title = is_busy ? "Busy time of every rank in every step, against the median rank"
                    : "Step time of every rank, against the median rank";
  m.note = QString("steps found by ") + QString::fromStdString(facts.steps->how);
  m.row_title = "rank";
  m.column_title = "step";
  m.rows = s.ranks;
  m.columns = s.steps;
  m.value.resize(m.rows * m.columns);
  double reach = 0.02;  // the scale spans at least +-2 %: less is noise
  for (std::size_t step = 0; step < s.steps; ++step) {
    std::vector<double> present;
    for (std::size_t rank = 0; rank < s.ranks; ++rank)
      if (std::isfinite(s.seconds[step * s.ranks + rank]))
        present.push_back(s.seconds[step * s.ranks + rank]);
    double median = 0;
    if (!present.empty()) {
      std::nth_element(present.begin(),
                       present.begin() + static_cast<std::ptrdiff_t>(present.size() / 2),
                       present.end());
      median = present[present.size() / 2];
    }
    for (std::size_t rank = 0; rank < s.ranks; ++rank) {
      const double ratio = is_busy      ? s.ratio[step * s.ranks + rank]
                           : median > 0 ? s.seconds[step * s.ranks + rank] / median
                                        : std::nan("");
      m.value[rank * m.columns + step] = ratio;
      if (std::isfinite(ratio)) reach = std::max(reach, std::abs(ratio - 1));
    }
  }
  reach = std::min(reach, 1.0);
  m.low = 1 - reach;
  m.high = 1 + reach;
  m.is_diverging = true;
  m.low_text = signed_percent_text(-reach);
  m.high_text = signed_percent_text(reach) + " slower";
  for (const trace::RankInfo& rank : facts.trace->ranks())
    m.row_labels.push_back(text_from(rank.label));
  for (const std::int64_t number : facts.steps->numbers)
    m.column_labels.push_back(QString::number(number));
  m.text = [matrix = facts.matrix, steps = facts.steps, trace = facts.trace](std::size_t rank,
                                                                             std::size_t step) {
    const std::size_t at = step * matrix->ranks + rank;
    return QString("%1, step %2\nstep time %3\nbusy %4, %5 of the median rank")
        .arg(text_from(trace->ranks()[rank].label))
        .arg(steps->numbers[step])
        .arg(time_text(matrix->seconds[at] * 1e9), time_text(matrix->busy_seconds[at] * 1e9),
             percent_text(matrix->ratio[at]));
  };
  return m;
}

StepMatrixPanel::StepMatrixPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  auto* line = new QHBoxLayout;
  measure_ = new QComboBox(this);
  measure_->addItems({"Busy time (finds the rank that others wait for)", "Step time"});
  line->addWidget(measure_);
  line->addStretch(1);
  column_->addLayout(line);
  matrix_ = new MatrixView(this);
  column_->addWidget(matrix_, 1);
  connect(measure_, &QComboBox::activated, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::facts_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] { refresh(); });
  connect(matrix_, &MatrixView::cell_chosen, this, [this](int rank, int step) {
    const TraceFacts& facts = workspace_.a.facts();
    if (!facts.steps) return;
    const trace::Steps::Range& range =
        facts.steps->of(static_cast<std::size_t>(step), static_cast<trace::RankId>(rank));
    emit workspace_.rank_wanted(static_cast<uint>(rank));
    if (range.is_present) emit workspace_.range_wanted(range.begin, range.end);
  });
}
void StepMatrixPanel::rebuild() {
  MatrixData m = step_matrix_data(workspace_.a.facts(), measure_->currentIndex() == 0);
  if (!workspace_.a.is_open()) m.empty_text = "No trace is open";
  matrix_->set_matrix(std::move(m));
}
}  // namespace stepcast::gui
