#pragma once
#include <zlib.h>

#include <string>

namespace stepcast::test {
/// The bytes as one gzip member; who includes this links ZLIB::ZLIB.
inline std::string gzip_of(const std::string& content) {
  std::string out(compressBound(static_cast<uLong>(content.size())) + 64, '\0');
  z_stream z{};
  deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}
}  // namespace stepcast::test
