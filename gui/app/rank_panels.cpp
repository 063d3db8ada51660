#include "gui/app/rank_panels.hpp"

#include <QHBoxLayout>
#include <QSplitter>
#include <QTabWidget>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"
#include "sim/timeline/stats/collectives.hpp"

namespace stepcast::gui {
namespace {
constexpr std::size_t kBarsOfSkew = 24;       // bars of the chart: what fits with readable names
constexpr std::size_t kMatrixLargest = 1024;  // ranks drawn as a matrix; a million cells
constexpr std::size_t kSegmentsListed = 200'000;  // rows of the path's table
}  // namespace

RankPanel::RankPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  head_ = add_label();
  table_ = add_table();
  connect(&workspace, &Workspace::area_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::finished, this, [this] { refresh(); });
  connect(table_, &TableView::row_chosen, this,
          [this](qulonglong id) { emit workspace_.rank_wanted(static_cast<uint>(id)); });
}
void RankPanel::rebuild() {
  const TraceFacts facts = workspace_.a.facts();
  if (!facts.trace || !facts.steps || !facts.matrix || !facts.runs) {
    head_->setText(facts.trace ? "Ranks are being summed up ..." : "No trace is open");
    table_->show_table({});
    return;
  }
  head_->setText(
      QString("%1. Straggler score: how much longer a rank works between synchronisations than the "
              "median rank.")
          .arg(workspace_.has_area() ? "In the marked interval" : "Over the whole trace"));
  const auto show = [this, trace = facts.trace](const std::vector<trace::RankStatistics>& ranks) {
    table_->show_table(rank_table(*trace, ranks));
    table_->sortByColumn(2, Qt::DescendingOrder);
  };
  if (!workspace_.has_area() && facts.ranks) {
    show(*facts.ranks);
    return;
  }
  trace::Area window = workspace_.area_or_all();
  window.lanes.clear();  // ranks are compared over all their streams
  working_.start(
      [facts, window](std::stop_token stop) {
        return trace::rank_statistics(*facts.trace, window, *facts.steps, *facts.matrix,
                                      *facts.runs, stop);
      },
      show);
}

CommunicationPanel::CommunicationPanel(Workspace& workspace, QWidget* parent)
    : Panel(workspace, parent) {
  head_ = add_label();
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  totals_ = new TableView(tabs);
  runs_ = new TableView(tabs);
  chart_ = new ChartView(tabs);
  matrix_ = new MatrixView(tabs);
  tabs->addTab(totals_, "By kind");
  tabs->addTab(runs_, "Each collective");
  tabs->addTab(chart_, "Skew against transfer");
  tabs->addTab(matrix_, "Rank x rank");
  column_->addWidget(tabs, 1);
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::finished, this, [this] { refresh(); });
  connect(runs_, &TableView::row_activated, this, [this](qulonglong id) {
    const auto& runs = workspace_.a.facts().runs;
    if (!runs || id >= runs->size()) return;
    const trace::CollectiveRun& run = (*runs)[id];
    for (const trace::SliceId member : run.members)
      if (workspace_.a.trace().rank_of(member) == run.last_rank)
        emit workspace_.jump_wanted({0, member});
  });
}

void CommunicationPanel::rebuild() {
  const TraceFacts facts = workspace_.a.facts();
  if (!facts.trace || !facts.runs) {
    head_->setText(facts.trace ? "Collectives are being matched ..." : "No trace is open");
    totals_->show_table({});
    runs_->show_table({});
    chart_->set_chart({});
    matrix_->set_matrix({});
    return;
  }
  head_->setText(QString("%L1 collectives. Skew: from the first to the last arrival, when somebody "
                         "waits. Transfer: from the last arrival to the end.")
                     .arg(facts.runs->size()));
  runs_->show_table(collective_table(*facts.trace, *facts.runs));
  struct Answer {
    std::vector<trace::CollectiveTotals> totals;
    trace::CommunicationMatrix matrix;
  };
  working_.start(
      [facts](std::stop_token) {
        return Answer{trace::collective_totals(*facts.trace, *facts.runs),
                      facts.trace->ranks().size() <= kMatrixLargest
                          ? trace::communication_matrix(*facts.trace, *facts.runs)
                          : trace::CommunicationMatrix{}};
      },
      [this, facts](Answer answer) {
        totals_->show_table(collective_totals_table(*facts.trace, answer.totals));
        ChartData c;
        c.kind = ChartKind::stacked_bar;
        c.title = "Time in collectives, by kind";
        c.y = {"time of all ranks' last member", AxisUnit::time_ns};
        c.empty_text = "No collective was found in this trace";
        ChartSeries skew{"arrival skew (waiting)",
                         theme().of(trace::SliceCategory::straggler_wait)},
            transfer{"transfer", theme().of(trace::SliceCategory::exposed_dp)};
        std::stable_sort(
            answer.totals.begin(), answer.totals.end(), [](const auto& l, const auto& r) {
              return l.skew_seconds + l.transfer_seconds > r.skew_seconds + r.transfer_seconds;
            });
        for (std::size_t i = 0; i < std::min(kBarsOfSkew, answer.totals.size()); ++i) {
          c.labels.push_back(
              text_from(answer.totals[i].kind) +
              (answer.totals[i].group.empty() ? "" : " " + text_from(answer.totals[i].group)));
          skew.y.push_back(answer.totals[i].skew_seconds * 1e9);
          transfer.y.push_back(answer.totals[i].transfer_seconds * 1e9);
        }
        if (!c.labels.empty()) c.series = {skew, transfer};
        c.y.title = "sum over collectives";
        chart_->set_chart(std::move(c));
        MatrixData m;
        const auto& from = answer.matrix;
        m.empty_text =
            facts.trace->ranks().size() > kMatrixLargest
                ? QString("%L1 ranks are too many for a matrix; mark an area or use the tables")
                      .arg(facts.trace->ranks().size())
                : "No traffic between ranks is known from this trace";
        double most = 0;
        for (const double b : from.bytes) most = std::max(most, b);
        std::int64_t most_messages = 0;
        for (const std::int64_t n : from.messages) most_messages = std::max(most_messages, n);
        const bool by_bytes = most > 0;
        if (from.ranks > 1 && from.ranks <= kMatrixLargest && (by_bytes || most_messages > 0)) {
          m.title = by_bytes
                        ? "Bytes from rank (row) to rank (column)"
                        : "Messages from rank (row) to rank (column); the trace states no sizes";
          m.rows = m.columns = from.ranks;
          m.row_title = "from";
          m.column_title = "to";
          m.high = by_bytes ? most : static_cast<double>(most_messages);
          m.low_text = "0";
          m.high_text = by_bytes ? bytes_text(most) : count_text(most_messages);
          for (std::size_t i = 0; i < from.ranks * from.ranks; ++i) {
            const double v = by_bytes ? from.bytes[i] : static_cast<double>(from.messages[i]);
            m.value.push_back(v > 0 ? v : std::nan(""));
          }
          for (const trace::RankInfo& rank : facts.trace->ranks()) {
            m.row_labels.push_back(text_from(rank.label));
            m.column_labels.push_back(QString::number(rank.rank));
          }
          m.text = [from, trace = facts.trace](std::size_t row, std::size_t column) {
            return QString("%1 to %2\n%3 in %4 messages")
                .arg(text_from(trace->ranks()[row].label), text_from(trace->ranks()[column].label),
                     bytes_text(from.bytes[row * from.ranks + column]),
                     count_text(from.messages[row * from.ranks + column]));
          };
        }
        matrix_->set_matrix(std::move(m));
      });
}

CriticalPanel::CriticalPanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  head_ = add_label();
  auto* split = new QSplitter(Qt::Horizontal, this);
  shares_ = new TableView(split);
  segments_ = new TableView(split);
  split->setStretchFactor(0, 2);
  split->setStretchFactor(1, 3);
  split->setSizes({380, 560});
  split->setChildrenCollapsible(false);
  column_->addWidget(split, 1);
  connect(&workspace.a, &TraceDocument::trace_changed, this, [this] { refresh(); });
  connect(&workspace.a, &TraceDocument::facts_changed, this, [this] { refresh(); });
  const auto jump = [this](qulonglong id) {
    const auto& path = workspace_.a.facts().critical;
    if (!path || id >= path->segments.size()) return;
    const trace::CriticalSegment& s = path->segments[id];
    if (s.slice != trace::kNoId)
      emit workspace_.jump_wanted({0, s.slice});
    else
      emit workspace_.range_wanted(s.begin, s.end);
  };
  connect(segments_, &TableView::row_activated, this, jump);
}
void CriticalPanel::rebuild() {
  const TraceFacts& facts = workspace_.a.facts();
  if (!facts.trace || !facts.critical) {
    head_->setText(facts.trace ? "The critical path is being traced ..." : "No trace is open");
    shares_->show_table({});
    segments_->show_table({});
    return;
  }
  const trace::CriticalPath& path = *facts.critical;
  head_->setText(QString("%1 long, %L2 stretches, %L3 changes of rank. Nothing on it could have "
                         "been later without moving the end. K shows it in the timeline.")
                     .arg(time_text(path.seconds_total * 1e9))
                     .arg(path.segments.size())
                     .arg(path.rank_changes));
  shares_->show_table(critical_share_table(path));
  trace::CriticalPath listed = path;
  if (listed.segments.size() > kSegmentsListed) {
    listed.segments.resize(kSegmentsListed);
    head_->setText(head_->text() +
                   QString(" The first %L1 stretches are listed.").arg(kSegmentsListed));
  }
  segments_->show_table(critical_table(*facts.trace, listed));
}
}  // namespace stepcast::gui
