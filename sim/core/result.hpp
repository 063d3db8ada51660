#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/assert.hpp"

namespace stepcast {

/// One thing wrong with an input: where it stands, what was found and what is expected, and a hint.
struct Problem {
  std::string file;     // as the user named it; "--set" or "command line" for flags
  std::string place;    // JSON pointer ("/parallel/tp"), "line 3" or "" for the whole file
  std::string message;  // one clause: "3 does not divide heads (32)"
  std::string hint;     // one clause or empty: "try 1, 2, 4"
};

/// `jobs/tiny.json /parallel/tp: 3 does not divide heads (32); try 1, 2, 4`
std::string text_of(const Problem& problem);

/// Every problem found in an input, in the order found. A person mends input and wants the whole
/// list.
class Problems {
 public:
  void add(Problem problem) { list_.push_back(std::move(problem)); }
  void add(const Problems& others) {
    list_.insert(list_.end(), others.list_.begin(), others.list_.end());
  }
  bool empty() const { return list_.empty(); }
  std::size_t size() const { return list_.size(); }
  const std::vector<Problem>& list() const { return list_; }
  std::string text() const;  // one line per problem

 private:
  std::vector<Problem> list_;
};

/// Thrown where a value cannot be returned (deep in a parser); main prints it and answers with
/// exit 2.
struct InputError : std::runtime_error {
  explicit InputError(Problems p) : std::runtime_error(p.text()), problems(std::move(p)) {}
  explicit InputError(Problem p) : std::runtime_error(text_of(p)) { problems.add(std::move(p)); }
  Problems problems;
};

/// A value, or all the problems that kept it from being one.
template <class T>
class Result {
 public:
  Result(T value) : state_(std::move(value)) {}              // NOLINT: implicit by design
  Result(Problems problems) : state_(std::move(problems)) {  // NOLINT: implicit by design
    STEPCAST_ASSERT(!std::get<Problems>(state_).empty(), "a failed Result names a problem");
  }
  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const Problems& problems() const { return std::get<Problems>(state_); }
  /// The value; throws InputError with all problems when there is none.
  T value_or_throw() && {
    if (!*this) throw InputError(problems());
    return std::get<T>(std::move(state_));
  }

 private:
  std::variant<T, Problems> state_;
};

/// The known name nearest to `name` by edit distance, or "" when none is near (distance > 1 +
/// length/3).
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);
/// "a, b, c" for messages.
std::string joined(const std::vector<std::string>& parts, const char* separator = ", ");
}  // namespace stepcast
