#include <QMenu>
#include <QRegularExpression>
#include <QScrollBar>
#include <QStatusBar>
#include <algorithm>

#include "gui/app/main_window.hpp"
#include "gui/look/text.hpp"
#include "gui/models/trace_tables.hpp"

/// Views, panels and workspace kept in step with each other.
namespace stepcast::gui {
void MainWindow::connect_navigation() {
  connect(mode_box_, &QComboBox::activated, this,
          [this](int index) { set_overview_mode(static_cast<OverviewMode>(index)); });
  connect(order_box_, &QComboBox::activated, this,
          [this](int index) { set_order(static_cast<RankOrder>(index)); });
  connect(colour_box_, &QComboBox::activated, this, [this] { rebuild_scene(true); });
  connect(search_, &QLineEdit::textChanged, this, &MainWindow::search);
  connect(search_, &QLineEdit::returnPressed, this, [this] { step_hit(true); });
  for (TimelineView* view : {timeline_a_, timeline_b_}) {
    TimelineView* other = view == timeline_a_ ? timeline_b_ : timeline_a_;
    const int own_side = view == timeline_b_ ? 1 : 0;
    connect(view, &TimelineView::view_changed, this, [this, view, other](const TimeRange& range) {
      // A hidden timeline that is resized announces its view as well; only what is seen is linked.
      if (!is_linking_ && view->isVisible() && other->isVisible() && !view->scene().is_empty() &&
          !other->scene().is_empty()) {
        is_linking_ = true;
        // Both are drawn on A's axis, so equal ranges are aligned.
        other->set_view(range, view == timeline_b_);
        is_linking_ = false;
      }
      update_view_boxes();
      if (view == timeline_a_) update_hit_ticks();
    });
    connect(view, &TimelineView::slice_selected, this,
            [this, own_side, view](const SliceRef& slice) {
              const SliceRef ref = !slice.is_set() ? SliceRef{}
                                   : own_side == 1 ? SliceRef{1, slice.slice}
                                                   : slice;
              workspace_.select(ref);
              slice_panel_->set_partner(compare_->partner_of(ref));
              if (ref.is_set()) {
                dock("slice")->raise();
                // The partner is marked in the other timeline.
                const SliceRef partner = compare_->partner_of(ref);
                TimelineView* there = view == timeline_a_ ? timeline_b_ : timeline_a_;
                if (!is_linking_ && partner.is_set() && there->isVisible()) {
                  is_linking_ = true;
                  there->select({0, partner.slice});
                  is_linking_ = false;
                  workspace_.select(ref);
                }
              }
            });
    connect(view, &TimelineView::hovered, hover_, &QLabel::setText);
    connect(view, &TimelineView::menu_wanted, this,
            [this, view](const QPoint& at, const SliceRef& slice, int row) {
              show_menu(at, slice, row, *view);
            });
    connect(view, &TimelineView::rows_changed, this, [this, view, other] {
      if (other->gutter() != view->gutter()) other->set_gutter(view->gutter());
      update_view_boxes();
    });
    connect(view, &TimelineView::offset_dragged, this, [this](qlonglong ns) {
      compare_->set_alignment(trace::Alignment::manual);
      compare_->set_offset(compare_->offset() + ns);
    });
  }
  connect(timeline_a_, &TimelineView::area_changed, this, [this] {
    const Area& marked = timeline_a_->area();
    if (marked.is_empty())
      workspace_.set_area({});
    else
      workspace_.set_area({marked.start, marked.end, timeline_a_->area_lanes()});
    if (!marked.is_empty()) dock("area")->raise();
  });
  connect(timeline_a_, &TimelineView::history_changed, this, [this](bool can_undo, bool can_redo) {
    (*actions_)["undo_view"]->setEnabled(can_undo);
    (*actions_)["redo_view"]->setEnabled(can_redo);
  });
  connect(overview_a_, &OverviewView::view_dragged, this,
          [this](const TimeRange& range) { timeline_a_->set_view(range, true, true); });
  connect(overview_b_, &OverviewView::view_dragged, this, [this](const TimeRange& range) {
    const auto map = compare_->time_map();
    timeline_a_->set_view(
        map ? TimeRange{map->b_to_a(range.start),
                        std::max(map->b_to_a(range.start) + 1, map->b_to_a(range.end))}
            : range,
        true, true);
  });
  connect(overview_a_, &OverviewView::rank_chosen, &workspace_, &Workspace::rank_wanted);
  connect(&workspace_, &Workspace::rank_wanted, this, [this](uint rank) {
    if (!workspace_.a.is_open() || rank >= workspace_.a.trace().ranks().size()) return;
    auto& choice = timeline_a_->scene_for_change().sides[0].choice;
    choice.open_ranks.insert(rank);
    choice.closed_nodes.erase(workspace_.a.trace().ranks()[rank].node);
    timeline_a_->relayout();
    const RowLayout& rows = timeline_a_->layout_rows();
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
      if (rows.rows[i].kind == RowKind::rank && rows.rows[i].side == 0 && rows.rows[i].id == rank)
        timeline_a_->verticalScrollBar()->setValue(rows.rows[i].y);
  });
  connect(&workspace_, &Workspace::jump_wanted, this, &MainWindow::jump);
  connect(&workspace_, &Workspace::range_wanted, this, [this](qlonglong begin, qlonglong end) {
    timeline_a_->set_view(fitted({begin, std::max(begin + 1, end)}, timeline_a_->whole()));
  });
  connect(&workspace_, &Workspace::status, this,
          [this](const QString& text) { statusBar()->showMessage(text, 5000); });
  connect(&workspace_, &Workspace::filter_changed, this, [this] { rebuild_scene(true); });
  connect(&workspace_, &Workspace::hits_changed, this, [this] {
    const auto& hits = workspace_.hits();
    search_state_->setToolTip({});
    search_state_->setText(
        workspace_.filter_text().isEmpty() ? QString() : QString("%L1 hits").arg(hits.total));
    update_hit_ticks();
  });
  connect(&workspace_, &Workspace::notes_edited, this, &MainWindow::update_marks);
  connect(op_panel_, &OpPanel::filter_wanted, this, &MainWindow::search);
  connect(compare_panel_, &ComparePanel::layout_chosen, this, &MainWindow::set_interleaved);
  connect(legend_, &LegendBar::category_clicked, this, [this](int category) {
    const QString text = "category = " + text_from(text_of(static_cast<SliceCategory>(category)));
    search(workspace_.filter_text() == text ? QString() : text);
  });
}

void MainWindow::set_overview_mode(OverviewMode mode) {
  mode_box_->setCurrentIndex(static_cast<int>(mode));
  overview_a_->set_mode(mode);
  overview_b_->set_mode(mode);
}
void MainWindow::set_order(RankOrder order) {
  order_ = order;
  order_box_->setCurrentIndex(static_cast<int>(order));
  rebuild_scene(true);
  rebuild_overview(0);
  if (workspace_.b.is_open()) rebuild_overview(1);
}
void MainWindow::set_interleaved(bool is_interleaved) {
  is_interleaved_ = is_interleaved;
  compare_panel_->layout_choice().setCurrentIndex(is_interleaved ? 1 : 0);
  rebuild_scene(true);
}

void MainWindow::go_to_time() {
  if (!workspace_.a.is_open()) return;
  const QString text =
      chooser_.text("Go to time", "Time since the trace's begin, such as 12.5 ms", "");
  static const QRegularExpression form(R"(^\s*([0-9]*\.?[0-9]+)\s*(ns|us|ms|s)?\s*$)");
  const auto match = form.match(text);
  if (!match.hasMatch()) {
    if (!text.isEmpty())
      statusBar()->showMessage("\"" + text + "\" is no time; write for instance 12.5 ms", 5000);
    return;
  }
  const QString unit = match.captured(2);
  const double scale = unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : 1e9;
  const Nanoseconds t =
      workspace_.a.trace().begin() + std::llround(match.captured(1).toDouble() * scale);
  const Nanoseconds length = timeline_a_->view().length();
  timeline_a_->set_view({t - length / 2, t - length / 2 + length});
}

void MainWindow::show_menu(const QPoint& global, const SliceRef& slice, int, TimelineView& view) {
  QMenu menu(this);
  const auto add = [&](const char* id) { menu.addAction((*actions_)[id]); };
  if (slice.is_set()) {
    for (const char* id : {"fit", "area_of_slice", "copy", "copy_json", "filter_like_this",
                           "next_flow", "previous_flow", "bookmark", "note", "pin", "hide"})
      add(id);
    if (workspace_.is_comparing()) add("partner");
  } else {
    for (const char* id :
         {"fit_all", "expand_all", "collapse_all", "fold_alike", "show_all", "bookmark"})
      add(id);
    if (!view.area().is_empty()) {
      menu.addSeparator();
      for (const char* id : {"fit", "note", "export_trace", "export_csv"}) add(id);
    }
  }
  menu.addSeparator();
  add("export_png");
  menu.exec(global);
}
}  // namespace stepcast::gui
