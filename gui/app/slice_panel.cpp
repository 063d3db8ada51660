#include "gui/app/detail_panels.hpp"
#include "gui/look/text.hpp"
#include "gui/look/theme.hpp"
#include "gui/models/trace_tables.hpp"
#include "sim/io/json.hpp"

namespace stepcast::gui {
SlicePanel::SlicePanel(Workspace& workspace, QWidget* parent) : Panel(workspace, parent) {
  head_ = add_label();
  fields_ = add_table(3);
  links_ = add_table(1);
  fields_->setSortingEnabled(false);
  links_->setSortingEnabled(false);
  connect(&workspace, &Workspace::selection_changed, this, [this](const SliceRef& slice) {
    args_.reset();
    partner_ = {};
    reading_.stop();
    is_reading_ = slice.is_set();
    if (slice.is_set())
      reading_.start(
          [trace = workspace_.document(slice.side).facts().trace, slice](std::stop_token stop) {
            return trace::read_slice_args(*trace, slice.slice, stop);
          },
          [this](std::optional<trace::SliceArgs> args) {
            args_ = std::move(args);
            is_reading_ = false;
            refresh();
          },
          [this](const QString&) {
            is_reading_ = false;
            refresh();
          });
    refresh();
  });
  connect(links_, &TableView::row_activated, this, [this](qulonglong id) {
    if (id != 0)
      emit workspace_.jump_wanted(
          {static_cast<int>((id - 1) % 2), static_cast<trace::SliceId>((id - 1) / 2)});
  });
}

void SlicePanel::set_partner(SliceRef partner) {
  partner_ = partner;
  refresh();
}

Table SlicePanel::fields() const {
  Table t;
  t.empty_text = "Click a slice in the timeline, or press . and , to walk along a stream.";
  t.columns = {{"field"}, {"value"}};
  const SliceRef s = workspace_.selected();
  if (!s.is_set() || !workspace_.document(s.side).is_open()) return t;
  const TraceFacts& facts = workspace_.document(s.side).facts();
  const trace::TraceStore& store = *facts.trace;
  if (s.slice >= store.slices()) return t;
  const auto add = [&t](const QString& name, const QString& value) {
    t.rows.push_back({{name, value}});
  };
  const trace::Op& op = store.op(s.slice);
  add("name", text_from(store.text(op.name)));
  if (workspace_.is_comparing()) add("trace", s.side == 0 ? "A" : "B");
  t.rows.push_back({{"category", category_label(op.shown)}});
  t.rows.back().swatch = theme().of(op.shown);
  t.rows.back().tip = category_definition(op.shown);
  if (!store.text(op.category).empty())
    add("category in the file", text_from(store.text(op.category)));
  add("where", place_of(store, s.slice));
  add("node", text_from(store.nodes()[store.ranks()[store.rank_of(s.slice)].node].label));
  add("start", time_text(static_cast<double>(store.start(s.slice) - store.begin())) + "   (" +
                   exact_time_text(store.start(s.slice) - store.begin()) + ")");
  add("duration", time_text(static_cast<double>(store.duration(s.slice))) + "   (" +
                      exact_time_text(store.duration(s.slice)) + ")");
  add("end", time_text(static_cast<double>(store.end(s.slice) - store.begin())));
  if (facts.steps) {
    const int step = facts.steps->step_at(store.rank_of(s.slice), store.start(s.slice));
    if (step >= 0)
      add("step", QString::number(facts.steps->numbers[static_cast<std::size_t>(step)]));
  }
  add("depth", QString::number(store.depth_of(s.slice)));
  if (facts.ops)
    for (const trace::OpStatistics& o : *facts.ops)
      if (o.op == store.op_id(s.slice)) {
        const double ratio =
            o.p50 > 0 ? static_cast<double>(store.duration(s.slice)) / static_cast<double>(o.p50)
                      : 1;
        add("against its median",
            QString("%1 x  (median %2 of %3)")
                .arg(ratio, 0, 'f', 2)
                .arg(time_text(static_cast<double>(o.p50)), count_text(o.count)));
      }
  const auto& collectives = store.collectives();
  const auto at = std::lower_bound(
      collectives.begin(), collectives.end(), s.slice,
      [](const trace::CollectiveSlice& c, trace::SliceId id) { return c.slice < id; });
  if (at != collectives.end() && at->slice == s.slice) {
    add("collective", text_from(store.text(at->kind)));
    if (at->bytes > 0) add("size S", bytes_text(static_cast<double>(at->bytes)));
    if (at->group_size > 0) add("group size", QString::number(at->group_size));
  }
  if (is_reading_)
    add("arguments", "reading ...");
  else if (!args_)
    add("arguments", "the file behind the slice cannot be read, or was changed");
  else
    for (const auto& [key, value] : args_->args)
      add("args." + QString::fromStdString(key), QString::fromStdString(value));
  return t;
}

void SlicePanel::rebuild() {
  const Table table = fields();
  head_->setText(table.rows.empty() ? QString()
                                    : "<b>" + table.rows[0].cells[1].text.toHtmlEscaped() + "</b>");
  head_->setVisible(!table.rows.empty());
  fields_->show_table(table);
  Table links;
  links.empty_text = "No arrow leaves or reaches this slice";
  links.columns = {{"arrow"}, {"slice"}, {"where"}, {"delay", CellKind::signed_time}};
  const SliceRef s = workspace_.selected();
  if (s.is_set() && workspace_.document(s.side).is_open() &&
      s.slice < workspace_.document(s.side).trace().slices()) {
    const trace::TraceStore& store = workspace_.document(s.side).trace();
    const auto add = [&](const QString& kind, trace::SliceId other, Nanoseconds delay) {
      if (other == trace::kNoId) {
        links.rows.push_back({{kind, "(no slice at that end)", "", static_cast<double>(delay)}});
        return;
      }
      TableRow row{
          {kind, text_from(store.name(other)), place_of(store, other), static_cast<double>(delay)}};
      row.id = static_cast<std::uint64_t>(other) * 2 + static_cast<std::uint64_t>(s.side) + 1;
      row.swatch = theme().of(store.category(other));
      links.rows.push_back(std::move(row));
    };
    for (const std::uint32_t f : store.flows_into(s.slice))
      add("from", store.flows()[f].from, store.flows()[f].to_time - store.flows()[f].from_time);
    for (const std::uint32_t f : store.flows_from(s.slice))
      add("to", store.flows()[f].to, store.flows()[f].to_time - store.flows()[f].from_time);
    if (partner_.is_set() && workspace_.document(partner_.side).is_open()) {
      const trace::TraceStore& other = workspace_.document(partner_.side).trace();
      TableRow row{{QString("partner in ") + (partner_.side == 0 ? "A" : "B"),
                    text_from(other.name(partner_.slice)), place_of(other, partner_.slice),
                    static_cast<double>(other.duration(partner_.slice) - store.duration(s.slice))}};
      row.id = static_cast<std::uint64_t>(partner_.slice) * 2 +
               static_cast<std::uint64_t>(partner_.side) + 1;
      row.tip = "The delay column holds the partner's duration minus this slice's";
      links.rows.push_back(std::move(row));
    }
  }
  links_->show_table(links);
}

QString SlicePanel::text() const {
  QStringList lines;
  for (const TableRow& row : fields().rows) lines << row.cells[0].text + ": " + row.cells[1].text;
  return lines.join('\n');
}
QString SlicePanel::json() const {
  Json out = Json::object();
  for (const TableRow& row : fields().rows)
    if (!row.cells[0].text.startsWith("args"))
      out[row.cells[0].text.toStdString()] = row.cells[1].text.toStdString();
  if (args_) {
    const Json event = Json::parse(args_->raw, nullptr, false);
    out["event"] = event.is_discarded() ? Json(args_->raw) : event;
  }
  return QString::fromStdString(out.dump(2, ' ', false, Json::error_handler_t::replace));
}
}  // namespace stepcast::gui
