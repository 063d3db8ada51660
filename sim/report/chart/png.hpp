#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace stepcast {
/// A PNG file (8-bit RGB, no interlace) of `pixels`, 3 bytes each, row by row from the top. PNG
/// specification, 2nd edition.
std::string png_of(int width, int height, const std::vector<std::uint8_t>& pixels);
}  // namespace stepcast
