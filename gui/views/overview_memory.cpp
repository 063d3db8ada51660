#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/views/overview_view.hpp"
#include "sim/timeline/lod/memory_counters.hpp"

/// Memory in use as heat: of the ranks that share a line of pixels, the fullest.
namespace stepcast::gui {
double OverviewView::most_memory() const {
  if (!trace_) return 0;
  double most = 0;
  for (const std::uint32_t counter : trace::memory_counters(*trace_))
    if (counter != trace::kNoId) most = std::max(most, trace_->counters()[counter].most);
  return most;
}

QImage OverviewView::memory_cells(const QSize& pixels) const {
  QImage image(pixels, QImage::Format_RGB32);
  image.fill(theme().base);
  const double most = most_memory();
  if (most <= 0 || order_.empty()) return image;
  if (memory_.empty()) {
    for (const std::uint32_t counter : trace::memory_counters(*trace_))
      memory_.push_back(counter == trace::kNoId
                            ? nullptr
                            : std::make_shared<trace::CounterMip>(trace_->counters()[counter]));
  }
  const double rows_a_line = static_cast<double>(order_.size()) / pixels.height();
  std::vector<double> fullest(static_cast<std::size_t>(pixels.width()));
  for (int y = 0; y < pixels.height(); ++y) {
    std::fill(fullest.begin(), fullest.end(), -1);
    const auto first = static_cast<std::size_t>(y * rows_a_line);
    const auto last = std::max(first + 1, static_cast<std::size_t>((y + 1) * rows_a_line));
    for (std::size_t row = first; row < std::min(last, order_.size()); ++row) {
      const auto& mip = memory_[order_[row]];
      if (!mip) continue;
      const auto columns = mip->columns(shown().start, shown().end, pixels.width());
      for (std::size_t x = 0; x < columns.size() && x < fullest.size(); ++x)
        if (columns[x].is_set) fullest[x] = std::max(fullest[x], columns[x].most);
    }
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    for (std::size_t x = 0; x < fullest.size(); ++x)
      if (fullest[x] >= 0) line[x] = theme().heat(fullest[x] / most).rgb();
  }
  return image;
}

QString OverviewView::memory_text(int row, Nanoseconds t) const {
  const trace::RankId rank = order_[static_cast<std::size_t>(row)];
  QString text = QString::fromStdString(trace_->ranks()[rank].label) + " at " +
                 time_text(static_cast<double>(t - trace_->begin()));
  if (rank >= memory_.size() || !memory_[rank]) return text + "\nno counter of memory";
  const auto column = memory_[rank]->columns(t, t + 1, 1).front();
  return text + "\n" + (column.is_set ? bytes_text(column.most) : QString("nothing told yet"));
}
}  // namespace stepcast::gui
