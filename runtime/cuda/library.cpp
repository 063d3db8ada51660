#include "runtime/cuda/library.hpp"

#include <dlfcn.h>

#include "sim/core/assert.hpp"

namespace stepcast::runtime {
void Library::open() {
  if (handle_ != nullptr || !reason_.empty()) return;
  handle_ = dlopen(soname_, RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* text = dlerror();
    reason_ = text == nullptr ? "unknown reason" : text;
  }
}
bool Library::is_present() {
  open();
  return handle_ != nullptr;
}
void* Library::symbol(const char* name) {
  open();
  if (handle_ == nullptr)
    throw EnvironmentError(std::string(soname_) + " cannot be opened (" + reason_ + "); install " +
                           package_);
  void* found = dlsym(handle_, name);
  if (found == nullptr)
    throw EnvironmentError(std::string(soname_) + " has no " + name +
                           ": it is older than this program; install " + package_);
  return found;
}
}  // namespace stepcast::runtime
