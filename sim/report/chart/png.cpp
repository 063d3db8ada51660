#include "sim/report/chart/png.hpp"

#include <zlib.h>

#include "sim/core/assert.hpp"

namespace stepcast {
namespace {
void append_big_endian(std::string& out, std::uint32_t value) {
  for (const int shift : {24, 16, 8, 0}) out += static_cast<char>((value >> shift) & 0xff);
}
/// length, type, data, CRC over type and data
void append_chunk(std::string& out, const std::string& type, const std::string& data) {
  append_big_endian(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = type + data;
  out += body;
  append_big_endian(out,
                    static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                     static_cast<uInt>(body.size()))));
}
}  // namespace

std::string png_of(int width, int height, const std::vector<std::uint8_t>& pixels) {
  const auto row_bytes = static_cast<std::size_t>(width) * 3;
  STEPCAST_ASSERT(pixels.size() == row_bytes * static_cast<std::size_t>(height),
                  "three bytes per pixel");
  std::string raw;
  raw.reserve(pixels.size() + static_cast<std::size_t>(height));
  for (std::size_t row = 0; row < static_cast<std::size_t>(height); ++row) {
    raw += '\0';  // filter "none"
    raw.append(reinterpret_cast<const char*>(pixels.data()) + row * row_bytes, row_bytes);
  }
  uLongf size = compressBound(static_cast<uLong>(raw.size()));
  std::string packed(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                               reinterpret_cast<const Bytef*>(raw.data()),
                               static_cast<uLong>(raw.size()), Z_BEST_COMPRESSION);
  STEPCAST_ASSERT(status == Z_OK, "compressBound gave room enough");
  packed.resize(size);

  std::string header;
  append_big_endian(header, static_cast<std::uint32_t>(width));
  append_big_endian(header, static_cast<std::uint32_t>(height));
  header += std::string("\x08\x02\x00\x00\x00",
                        5);  // 8 bits, RGB, deflate, adaptive filters, no interlace
  std::string out("\x89PNG\r\n\x1a\n", 8);
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", packed);
  append_chunk(out, "IEND", "");
  return out;
}
}  // namespace stepcast
