#include "gui/look/theme.hpp"

#include <QApplication>
#include <QFontDatabase>
#include <QPainter>
#include <QStyleFactory>
#include <algorithm>

namespace stepcast::gui {
namespace {
using Colours = std::array<const char*, kSliceCategories>;
// In the order of SliceCategory: compute, optimizer, compression, exposed tp pp dp ep cp,
// overlapped, bubble, straggler wait, data, checkpoint, failure, launch gap, other. Work is blue,
// exposed communication a family of reds, waiting violet and grey.
constexpr Colours kDark{"#3D7EC9", "#4FB3D9", "#3FA7A0", "#D64550", "#E8793A", "#E0507F",
                        "#C94FB8", "#B5533C", "#E9A03B", "#8A8F98", "#9B5DE5", "#6BBF59",
                        "#2A9D8F", "#FF3DA5", "#A08A5B", "#64748B"};
constexpr Colours kLight{"#2F6DB5", "#2E93BA", "#23857E", "#C22F3C", "#CF5F1F", "#C43468",
                         "#A93A98", "#94402B", "#C98314", "#777C86", "#7B3FC9", "#4C9C3C",
                         "#1D7F73", "#D81B80", "#83703F", "#8C98A8"};
// After Okabe and Ito, "Color Universal Design" (2008): told apart under the common colour-vision
// deficiencies.
constexpr Colours kColourBlind{"#0072B2", "#56B4E9", "#5AA9A0", "#D55E00", "#E07A2A", "#B34700",
                               "#F0A860", "#8C3A00", "#E69F00", "#999999", "#CC79A7", "#009E73",
                               "#006B4F", "#F0E442", "#7A6A58", "#5F6B7A"};

constexpr Qt::BrushStyle kSolid = Qt::SolidPattern;
constexpr std::array<Qt::BrushStyle, kSliceCategories> kPatterns{
    kSolid,           kSolid,
    kSolid,           kSolid,
    kSolid,           kSolid,
    kSolid,           kSolid,
    kSolid,           Qt::Dense6Pattern,
    Qt::BDiagPattern, Qt::HorPattern,
    Qt::VerPattern,   Qt::DiagCrossPattern,
    Qt::FDiagPattern, kSolid};

Theme& current() {
  static Theme value = make_theme(ThemeKind::dark, PaletteKind::standard);
  return value;
}
QColor mixed(const QColor& a, const QColor& b, double share) {
  const auto part = [share](int x, int y) { return static_cast<int>(x + (y - x) * share + 0.5); };
  return QColor(part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue()));
}
}  // namespace

Theme make_theme(ThemeKind kind, PaletteKind palette) {
  Theme t;
  t.kind = kind;
  t.palette_kind = palette;
  const bool is_dark = kind == ThemeKind::dark;
  const auto pick = [is_dark](const char* dark, const char* light) {
    return QColor(is_dark ? dark : light);
  };
  t.window = pick("#1E2127", "#F3F4F6");
  t.base = pick("#16181D", "#FFFFFF");
  t.alternate = pick("#1B1E24", "#F7F8FA");
  t.text = pick("#E3E6EB", "#1C2128");
  t.dim_text = pick("#9AA3AF", "#5B6470");
  t.grid = pick("#2C313A", "#E2E5EA");
  t.border = pick("#3A404B", "#C5CAD3");
  t.row_header = pick("#22262D", "#ECEEF2");
  t.selection = pick("#FFFFFF", "#000000");
  t.hit = pick("#FFE14D", "#B58900");
  t.critical = pick("#F2C14E", "#B07D00");
  t.a_edge = pick("#5AA2F0", "#2F6DB5");
  t.b_edge = pick("#F0954A", "#C8641B");
  const bool is_blind = palette == PaletteKind::colour_blind;
  t.faster = is_blind ? pick("#56B4E9", "#0072B2") : pick("#53B966", "#2F8F43");
  t.slower = is_blind ? pick("#E69F00", "#D55E00") : pick("#E25563", "#C22F3C");
  t.good = t.faster;
  t.warning = pick("#E9A03B", "#B06F00");
  t.error = pick("#F0616D", "#B3202E");
  const Colours& colours = is_blind ? kColourBlind : is_dark ? kDark : kLight;
  for (std::size_t i = 0; i < colours.size(); ++i) t.category[i] = QColor(colours[i]);
  t.pattern = kPatterns;
  return t;
}

QPalette Theme::palette() const {
  QPalette p;
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::WindowText, text);
  p.setColor(QPalette::Base, base);
  p.setColor(QPalette::AlternateBase, alternate);
  p.setColor(QPalette::Text, text);
  p.setColor(QPalette::PlaceholderText, dim_text);
  p.setColor(QPalette::Button, row_header);
  p.setColor(QPalette::ButtonText, text);
  p.setColor(QPalette::BrightText, error);
  p.setColor(QPalette::ToolTipBase, row_header);
  p.setColor(QPalette::ToolTipText, text);
  p.setColor(QPalette::Highlight, a_edge);
  p.setColor(QPalette::HighlightedText, readable_on(a_edge));
  p.setColor(QPalette::Link, a_edge);
  p.setColor(QPalette::Mid, border);
  p.setColor(QPalette::Dark, border);
  p.setColor(QPalette::Light, grid);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, mixed(text, window, 0.6));
  return p;
}

QColor Theme::readable_on(const QColor& background) {
  // Rec. 709 luma; 150 of 255 keeps black text on the lighter half of the category colours.
  const double luma =
      0.2126 * background.red() + 0.7152 * background.green() + 0.0722 * background.blue();
  return luma > 150 ? QColor("#101214") : QColor("#FFFFFF");
}

QColor Theme::heat(double share) const {
  share = std::clamp(share, 0.0, 1.0);
  const bool is_blind = palette_kind == PaletteKind::colour_blind;
  const QColor low = kind == ThemeKind::dark ? QColor("#22304A") : QColor("#DCE6F4");
  const QColor middle = is_blind ? QColor("#3F7FC0") : QColor("#E9B44C");
  const QColor high = is_blind ? QColor("#F0E442") : QColor("#D8343F");
  return share < 0.5 ? mixed(low, middle, share * 2) : mixed(middle, high, share * 2 - 1);
}

QColor Theme::diverging(double signed_share) const {
  const QColor middle = kind == ThemeKind::dark ? QColor("#2A2F38") : QColor("#E9ECF1");
  return mixed(middle, signed_share < 0 ? faster : slower, std::min(1.0, std::abs(signed_share)));
}

const Theme& theme() { return current(); }

void set_theme(ThemeKind kind, PaletteKind palette) {
  current() = make_theme(kind, palette);
  if (qApp == nullptr) return;
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  QApplication::setPalette(current().palette());
  const Theme& t = current();
  qApp->setStyleSheet(
      QString("QToolTip { color: %1; background: %2; border: 1px solid %3; padding: 4px; }"
              "QHeaderView::section { background: %2; color: %1; border: 0; border-right: 1px "
              "solid %3; border-bottom: 1px solid %3; padding: 3px 6px; }"
              "QTableView { gridline-color: %4; }")
          .arg(t.text.name(), t.row_header.name(), t.border.name(), t.grid.name()));
}

QString category_label(SliceCategory c) {
  switch (c) {
    case SliceCategory::compute:
      return "compute";
    case SliceCategory::optimizer:
      return "optimizer";
    case SliceCategory::compression:
      return "compression";
    case SliceCategory::exposed_tp:
      return "exposed TP";
    case SliceCategory::exposed_pp:
      return "exposed PP";
    case SliceCategory::exposed_dp:
      return "exposed DP";
    case SliceCategory::exposed_ep:
      return "exposed EP";
    case SliceCategory::exposed_cp:
      return "exposed CP";
    case SliceCategory::overlapped:
      return "overlapped";
    case SliceCategory::bubble:
      return "bubble";
    case SliceCategory::straggler_wait:
      return "straggler wait";
    case SliceCategory::data:
      return "data loading";
    case SliceCategory::checkpoint:
      return "checkpoint";
    case SliceCategory::failure:
      return "failure";
    case SliceCategory::launch_gap:
      return "launch gap";
    case SliceCategory::other:
      return "other";
  }
  return "?";
}

QString category_definition(SliceCategory c) {
  switch (c) {
    case SliceCategory::compute:
      return "A kernel of the model runs.";
    case SliceCategory::optimizer:
      return "Parameters are updated.";
    case SliceCategory::compression:
      return "Gradients are encoded or decoded.";
    case SliceCategory::exposed_tp:
      return "A tensor-parallel collective runs and no compute does.";
    case SliceCategory::exposed_pp:
      return "A pipeline message is awaited and no compute runs.";
    case SliceCategory::exposed_dp:
      return "Gradients or parameters move between replicas, or a collective whose group nothing "
             "tells, and no compute runs.";
    case SliceCategory::exposed_ep:
      return "Tokens move between experts and no compute runs.";
    case SliceCategory::exposed_cp:
      return "A context-parallel exchange runs and no compute does.";
    case SliceCategory::overlapped:
      return "Communication with compute of the same rank over most of it.";
    case SliceCategory::bubble:
      return "The pipeline schedule leaves the rank without work and without communication.";
    case SliceCategory::straggler_wait:
      return "The part of a collective before its last participant arrives.";
    case SliceCategory::data:
      return "The step waits for input samples or copies them.";
    case SliceCategory::checkpoint:
      return "State is saved or loaded.";
    case SliceCategory::failure:
      return "A failure or the recovery from it; always visible, however short.";
    case SliceCategory::launch_gap:
      return "The GPU waits for the host to issue the next kernel.";
    case SliceCategory::other:
      return "Host calls, ranges, copies and whatever the trace does not name as one of the "
             "others.";
  }
  return {};
}

QColor report_category_colour(Category c) { return theme().of(trace::slice_category_of(c)); }

QFont figure_font(double scale) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::GeneralFont);
  if (font.pointSizeF() > 0) font.setPointSizeF(font.pointSizeF() * scale);
  font.setStyleStrategy(QFont::PreferAntialias);
  return font;
}

void fill_category(QPainter& painter, const QRectF& rect, SliceCategory c) {
  const QColor colour = theme().of(c);
  const Qt::BrushStyle pattern = theme().pattern_of(c);
  if (pattern == Qt::SolidPattern) {
    painter.fillRect(rect, colour);
    return;
  }
  painter.fillRect(rect, mixed(colour, theme().base, 0.45));
  painter.fillRect(rect, QBrush(colour, pattern));
}
}  // namespace stepcast::gui
