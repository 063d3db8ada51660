#pragma once
#include <cerrno>
#include <cstdio>
#include <cstring>

/// Stands in for zlib in a build that only measures, on a machine without its header
/// (cmake/stand_in/README.md): plain files through the same calls; compressed ones are refused.
struct gzFile_s {
  std::FILE* file;
};
using gzFile = gzFile_s*;
inline constexpr int Z_OK = 0, Z_STREAM_END = 1, Z_ERRNO = -1;

/// "rb", or "w" with T: without compression.
inline gzFile gzopen(const char* path, const char* mode) {
  const bool is_written = mode[0] == 'w';
  if (is_written && std::strchr(mode, 'T') == nullptr) {
    errno = ENOTSUP;
    return nullptr;
  }
  std::FILE* file = std::fopen(path, is_written ? "wb" : "rb");
  return file == nullptr ? nullptr : new gzFile_s{file};
}
inline int gzread(gzFile f, void* to, unsigned bytes) {
  const bool is_start = std::ftell(f->file) <= 0;
  const std::size_t got = std::fread(to, 1, bytes, f->file);
  const auto* head = static_cast<const unsigned char*>(to);
  if (is_start && got > 1 && head[0] == 0x1f && head[1] == 0x8b) return -1;  // gzip's first bytes
  return std::ferror(f->file) != 0 ? -1 : static_cast<int>(got);
}
inline int gzwrite(gzFile f, const void* from, unsigned bytes) {
  return static_cast<int>(std::fwrite(from, 1, bytes, f->file));
}
inline const char* gzerror(gzFile f, int* error) {
  *error = std::ferror(f->file) != 0 ? Z_ERRNO : Z_OK;
  return "";
}
inline int gzclose(gzFile f) {
  const int status = std::fclose(f->file) == 0 ? Z_OK : Z_ERRNO;
  delete f;
  return status;
}
