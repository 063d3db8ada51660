#pragma once
#include <string>
#include <vector>

namespace stepcast::test {
struct Finished {
  int exit_code = -1;
  bool timed_out = false;
  std::string out, err;
};
/// Runs the stepcast binary in `folder` (empty: a fresh temporary one) and waits; kills it after
/// `limit_s`.
Finished run_stepcast(const std::vector<std::string>& arguments, const std::string& folder = "",
                      double limit_s = 120);
/// Starts it and does not wait; returns its process id. Output goes to /dev/null.
int start_stepcast(const std::vector<std::string>& arguments, const std::string& folder);
/// A folder of its own under the system's temporary folder, removed when this goes.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  std::string write(const std::string& name, const std::string& content) const;  // returns the path

 private:
  std::string path_;
};
std::string content_of(const std::string& path);
std::vector<std::string> lines_of(const std::string& text);
/// A small step that simulates in milliseconds.
inline constexpr const char* kSmallScenario = R"({
  "stepcast": 1,
  "model": { "preset": "gpt3-125m" },
  "training": { "global_batch": 32, "micro_batch": 1, "sequence_length": 2048 },
  "parallel": { "tp": 2, "pp": 2 },
  "cluster": { "preset": "dgx-h100-ib400", "nodes": 2 }
})";
}  // namespace stepcast::test
