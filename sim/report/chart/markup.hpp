#pragma once
#include <string>

namespace stepcast {
/// Text as XML and HTML show it, inside elements and quoted attributes; control characters other
/// than line breaks and tabs are dropped.
std::string markup_escaped(const std::string& text);
}  // namespace stepcast
