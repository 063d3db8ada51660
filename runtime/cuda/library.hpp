#pragma once
#include <string>

namespace stepcast::runtime {
/// A vendor library opened when first used: cuBLASLt alone takes seconds to load and half a
/// gigabyte. Never closed, because its threads and handlers live as long as the process.
class Library {
 public:
  /// Does not open anything yet.
  Library(const char* soname, const char* package) : soname_(soname), package_(package) {}
  bool is_present();
  /// Throws EnvironmentError naming library, reason and package when library or symbol is missing.
  void* symbol(const char* name);
  template <class Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(symbol(name));
  }
  const char* soname() const { return soname_; }

 private:
  void open();
  const char *soname_, *package_;
  void* handle_ = nullptr;
  std::string reason_;
};
}  // namespace stepcast::runtime
