#pragma once
#include <QBrush>
#include <QColor>
#include <QFont>
#include <QPalette>
#include <array>

#include "sim/timeline/store/slice_category.hpp"

class QPainter;

namespace stepcast::gui {
using trace::kSliceCategories;
using trace::SliceCategory;
enum class ThemeKind { dark, light };
enum class PaletteKind { standard, colour_blind };

/// Every colour that is drawn. Categories also carry a pattern, so that colour is never the only
/// sign.
struct Theme {
  ThemeKind kind = ThemeKind::dark;
  PaletteKind palette_kind = PaletteKind::standard;
  QColor window, base, alternate, text, dim_text, grid, border, row_header;
  QColor selection;       // outline of what is selected
  QColor hit;             // search hits
  QColor critical;        // critical path
  QColor a_edge, b_edge;  // the two traces of a comparison
  QColor faster, slower;  // b against a
  QColor good, warning, error;
  std::array<QColor, kSliceCategories> category;
  std::array<Qt::BrushStyle, kSliceCategories> pattern;
  QPalette palette() const;
  QColor of(SliceCategory c) const { return category[static_cast<std::size_t>(c)]; }
  Qt::BrushStyle pattern_of(SliceCategory c) const { return pattern[static_cast<std::size_t>(c)]; }
  /// Text that reads on a filled `background`.
  static QColor readable_on(const QColor& background);
  /// 0 (nothing) to 1 (worst): background to yellow to red; colour-blind: background to blue to
  /// yellow.
  QColor heat(double share) const;
  /// -1 (b faster) to 1 (b slower) around the background.
  QColor diverging(double signed_share) const;
};

Theme make_theme(ThemeKind kind, PaletteKind palette);
/// The theme in force; set_theme also sets the application's palette and style.
const Theme& theme();
void set_theme(ThemeKind kind, PaletteKind palette);

/// The colours of one category of a report.
QColor report_category_colour(Category c);
/// The field's words for a category, and how it is defined.
QString category_label(SliceCategory c);
QString category_definition(SliceCategory c);
/// Font with digits of equal width for tables and rulers.
QFont figure_font(double scale = 1.0);
/// A swatch with the category's colour and pattern.
void fill_category(QPainter& painter, const QRectF& rect, SliceCategory c);
}  // namespace stepcast::gui
