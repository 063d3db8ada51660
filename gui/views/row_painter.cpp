#include "gui/views/row_painter.hpp"

#include <QFontMetricsF>
#include <QHash>
#include <QStaticText>
#include <algorithm>
#include <cmath>

#include "gui/look/text.hpp"

namespace stepcast::gui {
namespace {
using trace::LodCell;
using trace::SliceId;
constexpr double kLeastLabelPx = 26;  // narrower slices carry no text
constexpr double kLeastPatternPx = 8;
constexpr double kDimmed = 0.72;  // how far what does not match sinks into the background
constexpr QRgb kOpaque = 0xFF000000;

Nanoseconds ns_at(double ns) { return static_cast<Nanoseconds>(std::llround(ns)); }
}  // namespace

const std::vector<std::uint32_t>& cell_palette(trace::Reduction reduction) {
  struct Key {
    QRgb base = 0;
    PaletteKind kind{};
    ThemeKind theme{};
  };
  static Key keys[2];
  static std::vector<std::uint32_t> tables[2];
  const auto slot = static_cast<std::size_t>(reduction == trace::Reduction::dominant);
  const Theme& t = theme();
  if (tables[slot].empty() || keys[slot].base != t.base.rgb() ||
      keys[slot].kind != t.palette_kind || keys[slot].theme != t.kind) {
    std::array<trace::Rgb, kSliceCategories> palette;
    const auto rgb = [](const QColor& c) {
      return trace::Rgb{static_cast<std::uint8_t>(c.red()), static_cast<std::uint8_t>(c.green()),
                        static_cast<std::uint8_t>(c.blue())};
    };
    for (std::size_t i = 0; i < palette.size(); ++i) palette[i] = rgb(t.category[i]);
    tables[slot] = trace::cell_colours(palette, rgb(t.base), reduction);
    keys[slot] = {t.base.rgb(), t.palette_kind, t.kind};
  }
  return tables[slot];
}

QRgb blended(QRgb under, QRgb over, double share) {
  const auto part = [share](int a, int b) { return static_cast<int>(a + (b - a) * share + 0.5); };
  return qRgb(part(qRed(under), qRed(over)), part(qGreen(under), qGreen(over)),
              part(qBlue(under), qBlue(over)));
}

QColor name_colour(std::string_view name) {
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  hash ^= hash >> 15;
  const bool is_dark = theme().kind == ThemeKind::dark;
  return QColor::fromHsv(static_cast<int>(hash % 360), 110 + static_cast<int>(hash / 360 % 90),
                         (is_dark ? 170 : 150) + static_cast<int>(hash / 32400 % 55));
}

std::vector<Strip> SceneSide::strips(const TimeAxis& axis) const {
  const auto strip_of = [&](Nanoseconds view_begin, Nanoseconds view_end) {
    const Nanoseconds begin = to_trace(view_begin), end = std::max(begin + 1, to_trace(view_end));
    const double x0 = axis.x_of(view_begin), x1 = axis.x_of(view_end);
    return Strip{begin, end, x0, (x1 - x0) / static_cast<double>(end - begin)};
  };
  std::vector<Strip> found;
  if (!map || map->pieces().size() < 2) return {strip_of(axis.range.start, axis.range.end)};
  Nanoseconds at = axis.range.start;
  for (std::size_t i = 0; i < map->pieces().size() && at < axis.range.end; ++i) {
    const bool is_last = i + 1 == map->pieces().size();
    const Nanoseconds until =
        is_last ? axis.range.end : std::min(axis.range.end, map->pieces()[i + 1].a);
    if (until <= at) continue;
    found.push_back(strip_of(at, until));
    at = until;
  }
  return found;
}

RowPainter::RowPainter(QImage& image, const TimelineScene& scene, const TimeAxis& axis)
    : image_(image),
      scene_(scene),
      axis_(axis),
      dpr_(image.devicePixelRatio()),
      pixels_(reinterpret_cast<QRgb*>(image.bits())),
      stride_(image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb))),
      scan_(static_cast<std::size_t>(image.width())) {
  for (const SceneSide& side : scene.sides) strips_.push_back(side.strips(axis));
  const int lane_height = scene.sides.empty() ? 1 : scene.sides.front().choice.lane_height;
  const double rows = image.height() / dpr_ / std::max(1, lane_height);
  exact_slices_ = trace::kExactSlices / static_cast<std::size_t>(std::max(1.0, std::ceil(rows)));
}

void RowPainter::fill(double x0, double x1, int top, int height, QRgb colour) {
  const int width = image_.width(), rows = image_.height();
  const int from = std::clamp(static_cast<int>(std::floor(x0 * dpr_)), 0, width);
  const int to = std::clamp(static_cast<int>(std::floor(x1 * dpr_)), 0, width);
  const int first = std::clamp(static_cast<int>(std::lround(top * dpr_)), 0, rows);
  const int last = std::clamp(static_cast<int>(std::lround((top + height) * dpr_)), 0, rows);
  if (from >= to) return;  // narrower than the pixel it would stand in
  for (int y = first; y < last; ++y) {
    QRgb* line = line_of(y);
    std::fill(line + from, line + to, colour | kOpaque);
  }
}

void RowPainter::scan(double x0, double x1, QRgb colour) {
  // Truncation: nothing is below 0 after the clamp, and std::floor is a call on plain x86-64.
  const auto right = static_cast<double>(scan_.size());
  const auto from = static_cast<std::size_t>(std::clamp(x0 * dpr_, 0.0, right));
  const auto to = static_cast<std::size_t>(std::clamp(x1 * dpr_, 0.0, right));
  QRgb* const pixels = scan_.data();
  for (std::size_t x = from; x < to; ++x) pixels[x] = colour | kOpaque;
}

void RowPainter::repeat_scan(double x0, double x1, int top, int height) {
  const int rows = image_.height();
  const int first = std::clamp(static_cast<int>(std::lround(top * dpr_)), 0, rows);
  const int last = std::clamp(static_cast<int>(std::lround((top + height) * dpr_)), 0, rows);
  // A slice is a pixel wide at least and may end a pixel behind its strip.
  const auto right = static_cast<double>(scan_.size());
  const auto begin = scan_.begin() + static_cast<std::ptrdiff_t>(std::clamp(x0 * dpr_, 0.0, right));
  const auto end =
      scan_.begin() + static_cast<std::ptrdiff_t>(std::clamp(x1 * dpr_ + 2, 0.0, right));
  const auto is_painted = [](QRgb pixel) { return pixel != 0; };
  for (auto from = begin; from != end;) {
    from = std::find_if(from, end, is_painted);
    const auto to = std::find_if_not(from, end, is_painted);
    for (int y = first; y < last; ++y) std::copy(from, to, line_of(y) + (from - scan_.begin()));
    from = to;
  }
  std::fill(begin, end, 0);
}

QRgb RowPainter::colour_of(const SceneSide& side, const trace::DrawItem& item) const {
  const trace::TraceStore& store = *side.facts.trace;
  if (item.count == 1 && scene_.colours == ColourMode::name)
    return name_colour(store.name(item.slice)).rgb();
  if (item.count == 1 && scene_.colours == ColourMode::slowness) {
    const trace::OpId op = store.op_id(item.slice);
    const double typical = op < side.typical_ns.size() ? side.typical_ns[op] : 0;
    // Twice its op's median is the end of the scale.
    if (typical > 0)
      return theme().heat(static_cast<double>(store.duration(item.slice)) / typical - 0.5).rgb();
  }
  return theme().of(item.category).rgb();
}

bool RowPainter::is_dimmed(const SceneSide& side, const trace::DrawItem& item) const {
  if (side.filter && item.count == 1 && !side.filter->matches(item.slice)) return true;
  if (scene_.shows_critical && side.critical) {
    // A run is bright when any of its slices is on the path.
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(item.count, 64); ++i)
      if (side.critical->contains(item.slice + i)) return false;
    return true;
  }
  return false;
}

void RowPainter::lane(const SceneSide& side, int side_index, trace::LaneId lane, const Strip& strip,
                      int top, int height) {
  const trace::TraceStore& store = *side.facts.trace;
  const QRgb base = theme().base.rgb();
  items_.clear();
  bars_.clear();
  trace::draw_items(store, lane, strip.begin, strip.end,
                    std::max<Nanoseconds>(1, ns_at(1.0 / (strip.px_per_ns * dpr_))), items_);
  const double view_right = image_.width() / dpr_;
  for (const trace::DrawItem& item : items_) {
    const double x0 = std::max(left_, left_ + strip.x(item.begin));
    double x1 = std::min(view_right, left_ + strip.x(item.end));
    if (x1 < left_ || x0 > view_right) continue;
    x1 = std::max(x1, x0 + 1 / dpr_);
    QRgb colour = colour_of(side, item);
    const bool is_dim = is_dimmed(side, item);
    if (is_dim) colour = blended(colour, base, kDimmed);
    const bool is_thin = item.category == trace::SliceCategory::overlapped && height > 8;
    const int y = is_thin ? top + height / 4 : top, h = is_thin ? height - height / 2 : height;
    // All rows of a lane look alike but for thin slices: one is painted, then repeated.
    const auto paint = [&](double from, double to, QRgb with) {
      if (is_thin)
        bars_.push_back({from, to, y, h, with});
      else
        scan(from, to, with);
    };
    paint(x0, x1, colour);
    if (item.count > 1) {
      // Hatch of a folded run, so that nobody takes it for one slice.
      const QRgb dark = blended(colour, base, 0.35);
      for (double x = std::ceil(x0 / 4) * 4; x < x1; x += 4) paint(x, x + 1, dark);
      continue;
    }
    const double width = x1 - x0;
    if (width >= 3) paint(x1 - 1 / dpr_, x1, blended(colour, base, 0.55));
    if (width >= kLeastPatternPx && theme().pattern_of(item.category) != Qt::SolidPattern &&
        scene_.colours == ColourMode::category && !is_dim)
      patches_.push_back({QRectF(x0, y, width - 1, h), item.category});
    if (scene_.shows_critical && side.critical && !is_dim)
      bars_.push_back({x0, x1, top + height - 2, 2, theme().critical.rgb()});
    if (side.filter && !is_dim) bars_.push_back({x0, x1, top, 2, theme().hit.rgb()});
    if (width >= kLeastLabelPx && height >= 10) {
      const std::string_view name = store.name(item.slice);
      if (labels_.size() < kMostLabels)
        labels_.push_back({QRectF(x0 + 3, top, width - 5, height), name, colour});
      else
        ++labels_dropped_;
    }
    const SliceRef ref{side_index, item.slice};
    if (ref == selected_)
      outlines_.push_back({QRectF(x0, top, std::max(width, 2.0), height), theme().selection, 2});
    else if (ref == partner_)
      outlines_.push_back({QRectF(x0, top, std::max(width, 2.0), height), theme().hit, 2});
  }
  repeat_scan(left_ + strip.x0, left_ + strip.x(strip.end), top, height);
  for (const Bar& bar : bars_) fill(bar.x0, bar.x1, bar.top, bar.height, bar.colour);
}

void RowPainter::cells(const std::vector<LodCell>& row, double x0, int top, int height,
                       bool dimmed) {
  const auto& palette = cell_palette();
  const QRgb base = theme().base.rgb();
  const int from = static_cast<int>(std::lround(x0 * dpr_));
  const int first = std::clamp(static_cast<int>(std::lround(top * dpr_)), 0, image_.height());
  const int last =
      std::clamp(static_cast<int>(std::lround((top + height) * dpr_)), 0, image_.height());
  if (first >= last) return;
  std::vector<QRgb> colours(row.size());
  for (std::size_t i = 0; i < row.size(); ++i)
    colours[i] = dimmed ? blended(palette[row[i]], base, kDimmed * 0.7) : palette[row[i]];
  const int skip = std::max(0, -from);
  const int count = std::min(static_cast<int>(row.size()), image_.width() - from) - skip;
  if (count <= 0) return;
  for (int y = first; y < last; ++y)
    std::copy_n(colours.begin() + skip, count, line_of(y) + from + skip);
}

void RowPainter::dense_lane(const SceneSide& side, trace::LaneId lane, const Strip& strip, int top,
                            int height) {
  const double pixels = static_cast<double>(strip.end - strip.begin) * strip.px_per_ns;
  const int width = std::max(1, static_cast<int>(std::lround(pixels * dpr_)));
  std::vector<LodCell> row(static_cast<std::size_t>(width));
  side.facts.lanes->query(
      {strip.begin, strip.end, static_cast<double>(lane), 1, width, 1, exact_slices_}, row);
  cells(row, left_ + strip.x0, top, height,
        side.filter != nullptr || (scene_.shows_critical && side.critical));
}

void RowPainter::track(const TimelineRow& row, int top, double left) {
  left_ = left;
  const SceneSide& side = scene_.sides[row.side];
  const trace::TrackInfo& track = side.facts.trace->tracks()[row.id];
  const int lane_height = side.choice.lane_height;
  const int window = static_cast<int>(image_.height() / dpr_);
  for (std::uint32_t i = 0; i < track.lanes; ++i) {
    const int y = top + 1 + static_cast<int>(i) * lane_height;
    if (y + lane_height < 0 || y > window) continue;
    const trace::LaneId lane_id = track.first_lane + i;
    for (const Strip& strip : strips_[row.side]) {
      const SliceId first = side.facts.trace->first_ending_after(lane_id, strip.begin);
      const SliceId last = side.facts.trace->first_starting_at(lane_id, strip.end);
      if (first >= last) continue;
      if (last - first > kDenseSlices && side.facts.lanes && side.facts.lanes->is_complete())
        dense_lane(side, lane_id, strip, y, lane_height - 2);
      else
        lane(side, row.side, lane_id, strip, y, lane_height - 2);
    }
  }
  instants(side, row, top);
}

void RowPainter::instants(const SceneSide& side, const TimelineRow& row, int top) {
  const auto& all = side.facts.trace->instants();
  for (const Strip& strip : strips_[row.side]) {
    auto at = std::lower_bound(
        all.begin(), all.end(), std::pair(row.id, strip.begin),
        [](const trace::Instant& i, const auto& key) { return std::pair(i.track, i.time) < key; });
    double last_x = -10;
    for (; at != all.end() && at->track == row.id && at->time < strip.end; ++at) {
      const double x = left_ + strip.x(at->time);
      if (x - last_x < 4) continue;  // neighbours within 4 px share a mark
      last_x = x;
      marks_.push_back({QPointF(x, top + 1), theme().of(side.facts.trace->ops()[at->op].shown)});
    }
  }
}

void RowPainter::rank_state(const TimelineRow& row, int top, double left) {
  left_ = left;
  const SceneSide& side = scene_.sides[row.side];
  if (!side.facts.states) return;
  const bool is_dim = scene_.shows_critical && side.critical;
  for (const Strip& strip : strips_[row.side]) {
    const int width =
        std::max(1, static_cast<int>(std::lround(static_cast<double>(strip.end - strip.begin) *
                                                 strip.px_per_ns * dpr_)));
    std::vector<LodCell> line(static_cast<std::size_t>(width));
    side.facts.states->query(
        {strip.begin, strip.end, static_cast<double>(row.id), 1, width, 1, exact_slices_}, line);
    cells(line, left + strip.x0, top + 4, row.height - 8, is_dim);
    if (!is_dim || !side.facts.critical) continue;
    for (const trace::CriticalSegment& part : side.facts.critical->segments) {
      if (part.rank != row.id || part.end <= strip.begin || part.begin >= strip.end) continue;
      const double x0 = std::max(left, left + strip.x(part.begin)),
                   x1 = std::max(x0 + 1, left + strip.x(part.end));
      const QRgb colour =
          part.slice == trace::kNoId ? theme().dim_text.rgb() : theme().of(part.category).rgb();
      fill(x0, x1, top + 4, row.height - 8, colour);
      fill(x0, x1, top + row.height - 6, 3, theme().critical.rgb());
    }
  }
}

void RowPainter::counter(QPainter& painter, const TimelineRow& row, int top, double left) {
  const SceneSide& side = scene_.sides[row.side];
  const trace::CounterSeries& series = side.facts.trace->counters()[row.id];
  if (row.id >= side.counters.size() || !side.counters[row.id]) return;
  const double low = std::min(0.0, series.least), high = std::max(series.most, low + 1e-12);
  const double h = row.height - 8;
  const auto y_of = [&](double value) { return top + 4 + h - (value - low) / (high - low) * h; };
  QColor fill_colour = theme().of(trace::SliceCategory::optimizer);
  fill_colour.setAlpha(110);
  for (const Strip& strip : strips_[row.side]) {
    // Behind the last event nothing is known of the value.
    const Nanoseconds end = std::min(strip.end, side.facts.trace->end());
    if (end <= strip.begin) continue;
    const int width = std::max(
        1, static_cast<int>(std::lround(static_cast<double>(end - strip.begin) * strip.px_per_ns)));
    const auto columns = side.counters[row.id]->columns(strip.begin, end, width);
    QPolygonF line;
    for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
      const trace::CounterColumn& c = columns[static_cast<std::size_t>(x)];
      if (!c.is_set) continue;
      const double at = left + strip.x0 + x;
      painter.fillRect(QRectF(at, y_of(c.most), 1, y_of(low) - y_of(c.most)), fill_colour);
      if (c.most > c.least)
        line << QPointF(at + 0.5, y_of(c.least)) << QPointF(at + 0.5, y_of(c.most));
      line << QPointF(at + 0.5, y_of(c.last));
    }
    painter.setPen(QPen(theme().of(trace::SliceCategory::optimizer), 1));
    painter.drawPolyline(line);
  }
}

void RowPainter::delta(const TimelineRow& row, int top, double left) {
  if (!scene_.deltas || scene_.sides.empty() || !scene_.sides[0].facts.steps) return;
  const trace::Steps& steps = *scene_.sides[0].facts.steps;
  for (std::size_t i = 0; i < scene_.deltas->steps && i < scene_.delta_steps.size(); ++i) {
    const double seconds = scene_.deltas->seconds[i * scene_.deltas->ranks + row.id];
    const trace::Steps::Range& range =
        steps.of(static_cast<std::size_t>(scene_.delta_steps[i].first), row.id);
    if (!range.is_present || !std::isfinite(seconds)) continue;
    const double x0 = std::max(left, left + axis_.x_of(range.begin)),
                 x1 = left + axis_.x_of(range.end);
    if (x1 <= left) continue;
    // Ten percent of the step is the end of the colour scale.
    const double share =
        seconds * 1e9 / std::max(1.0, static_cast<double>(range.end - range.begin)) * 10;
    const QColor colour = theme().diverging(share);
    fill(x0, x1 - 1, top + 2, row.height - 4, colour.rgb());
    if (x1 - x0 <= kLeastLabelPx * 2 || labels_.size() >= kMostLabels) continue;
    texts_.push_back(signed_time_text(seconds * 1e9).toStdString());
    labels_.push_back({QRectF(x0 + 3, top, x1 - x0 - 6, row.height), texts_.back(), colour.rgb()});
  }
}

/// Few names fill a frame: each is laid out once for all slices that show the same text.
void RowPainter::draw_labels(QPainter& painter) {
  const QFontMetricsF metrics(painter.font(), painter.device());
  const double average = metrics.averageCharWidth();
  QHash<QString, QStaticText> laid_out;
  for (const Label& label : labels_) {
    QString text = QString::fromUtf8(label.text.data(), static_cast<qsizetype>(label.text.size()));
    // Elide only where the text can be too long: measuring costs more than drawing.
    if (static_cast<double>(text.size()) * average * 1.4 > label.box.width())
      text = metrics.elidedText(text, Qt::ElideRight, label.box.width());
    QStaticText& layout = laid_out[text];
    if (layout.text().isEmpty()) {
      layout.setTextFormat(Qt::PlainText);
      layout.setText(text);
      layout.prepare(painter.transform(), painter.font());
    }
    painter.setPen(Theme::readable_on(QColor::fromRgb(label.background)));
    painter.drawStaticText(
        QPointF(label.box.left(), label.box.top() + (label.box.height() - metrics.height()) / 2),
        layout);
  }
}

void RowPainter::finish(QPainter& painter) {
  for (const Patch& patch : patches_) {
    QColor stroke = theme().base;
    stroke.setAlpha(110);
    painter.fillRect(patch.box, QBrush(stroke, theme().pattern_of(patch.category)));
  }
  draw_labels(painter);
  for (const auto& [at, colour] : marks_) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(colour.lighter(140));
    const QPointF triangle[3]{at, at + QPointF(-4, 7), at + QPointF(4, 7)};
    painter.drawPolygon(triangle, 3);
  }
  painter.setBrush(Qt::NoBrush);
  for (const Outline& outline : outlines_) {
    painter.setPen(QPen(outline.colour, outline.width));
    painter.drawRect(outline.box.adjusted(0.5, 0.5, -0.5, -0.5));
  }
}
}  // namespace stepcast::gui
