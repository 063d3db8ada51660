#pragma once
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

/// Stands in for CLI11 in a build that only measures, on a machine without it
/// (cmake/stand_in/README.md): subcommands, options and flags as stepcast-calibrate declares them.
namespace CLI {
class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& text, int exit_code)
      : std::runtime_error(text), exit_code_(exit_code) {}
  int exit_code() const { return exit_code_; }

 private:
  int exit_code_;  // 0: help was asked for
};
/// Refuses numbers outside [low, high].
struct Range {
  Range(double low_limit, double high_limit) : low(low_limit), high(high_limit) {}
  double low, high;
};

class Option {
 public:
  Option* capture_default_str() { return has_default_ = true, this; }
  Option* type_name(const std::string& name) { return type_ = " " + name, this; }
  Option* check(const Range& range) { return ranges_.push_back(range), this; }
  Option* excludes(Option* other) { return excluded_.push_back(other), this; }

 private:
  friend class App;
  std::vector<std::string> names_;  // "-o", "--output"
  std::string described_as_, type_, default_;
  bool has_default_ = false, is_flag_ = false, takes_many_ = false, is_given_ = false;
  std::vector<Range> ranges_;
  std::vector<Option*> excluded_;
  std::function<bool(const std::string&, bool is_first)> take_;
};

class App {
 public:
  explicit App(std::string description, std::string name = "")
      : description_(std::move(description)), name_(std::move(name)) {}
  void require_subcommand(int) {}  // always does: there is nothing to run without one
  App* add_subcommand(const std::string& name, const std::string& description) {
    commands_.push_back(std::make_unique<App>(description, name));
    return commands_.back().get();
  }
  void callback(std::function<void()> run) { run_ = std::move(run); }

  template <class T>
  Option* add_option(const std::string& names, T& to, const std::string& description) {
    Option* option = add(names, description);
    option->takes_many_ = std::is_same_v<T, std::vector<std::string>>;
    option->default_ = text_of(to);
    option->take_ = [&to](const std::string& text, bool is_first) {
      return read(text, to, is_first);
    };
    return option;
  }
  Option* add_flag(const std::string& names, bool& to, const std::string& description) {
    Option* option = add(names, description);
    option->is_flag_ = true;
    option->take_ = [&to](const std::string&, bool) { return to = true; };
    return option;
  }

  void parse(int argc, char** argv) {
    name_ = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.empty()) throw ParseError("A subcommand is required", 106);
    if (words[0] == "--help" || words[0] == "-h") throw ParseError(help(), 0);
    for (const auto& command : commands_)
      if (command->name_ == words[0]) return command->parse_words(name_, words);
    throw ParseError("The following argument was not expected: " + words[0], 109);
  }
  int exit(const ParseError& error) const {
    std::fprintf(error.exit_code() == 0 ? stdout : stderr, "%s\n", error.what());
    if (error.exit_code() != 0) std::fprintf(stderr, "Run with --help for more information.\n");
    return error.exit_code();
  }

 private:
  static bool read(const std::string& text, std::string& to, bool) { return to = text, true; }
  static bool read(const std::string& text, std::vector<std::string>& to, bool is_first) {
    if (is_first) to.clear();  // what is given replaces the default
    to.push_back(text);
    return true;
  }
  template <class Number>
  static bool read(const std::string& text, Number& to, bool) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    to = static_cast<Number>(value);
    return !text.empty() && *end == '\0' && static_cast<double>(to) == value;
  }
  static std::string text_of(const std::string& value) { return value; }
  static std::string text_of(const std::vector<std::string>& values) {
    std::string text;
    for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
    return text;
  }
  static std::string text_of(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", value);
    return text;
  }

  Option* add(const std::string& names, const std::string& description) {
    options_.push_back(std::make_unique<Option>());
    Option* option = options_.back().get();
    for (std::size_t from = 0; from < names.size();) {
      const std::size_t to = std::min(names.find(',', from), names.size());
      option->names_.push_back(names.substr(from, to - from));
      from = to + 1;
    }
    option->described_as_ = description;
    return option;
  }
  Option& option_named(const std::string& name) const {
    for (const auto& option : options_)
      for (const std::string& known : option->names_)
        if (known == name) return *option;
    throw ParseError("The following argument was not expected: " + name, 109);
  }
  void parse_words(const std::string& program, const std::vector<std::string>& words) {
    for (std::size_t at = 1; at < words.size(); ++at) {
      if (words[at] == "--help" || words[at] == "-h") throw ParseError(program + " " + help(), 0);
      const std::size_t equals =
          words[at].rfind("--", 0) == 0 ? words[at].find('=') : std::string::npos;
      const std::string name = words[at].substr(0, equals);
      Option& option = option_named(name);
      std::vector<std::string> values;
      if (equals != std::string::npos) values.push_back(words[at].substr(equals + 1));
      if (option.is_flag_ && values.empty()) values.emplace_back();
      while (values.empty() || (option.takes_many_ && equals == std::string::npos)) {
        if (at + 1 >= words.size() || (words[at + 1].size() > 1 && words[at + 1][0] == '-')) break;
        values.push_back(words[++at]);
      }
      if (values.empty()) throw ParseError(name + ":" + option.type_ + " is missing", 114);
      for (const std::string& value : values) give(option, name, value);
    }
    for (const auto& option : options_)
      for (const Option* other : option->excluded_)
        if (option->is_given_ && other->is_given_)
          throw ParseError(option->names_.back() + " excludes " + other->names_.back(), 108);
    if (run_) run_();
  }
  static void give(Option& option, const std::string& name, const std::string& value) {
    for (const Range& range : option.ranges_) {
      char* end = nullptr;
      const double number = std::strtod(value.c_str(), &end);
      if (value.empty() || *end != '\0' || number < range.low || number > range.high)
        throw ParseError(name + ": Value " + value + " not in range [" + text_of(range.low) +
                             " - " + text_of(range.high) + "]",
                         105);
    }
    if (!option.take_(value, !option.is_given_))
      throw ParseError("Could not convert: " + name + " = " + value, 104);
    option.is_given_ = true;
  }
  std::string help() const {
    std::string text = name_ + ": " + description_ + "\n";
    for (const auto& option : options_) {
      text += "  " + text_of(option->names_) + option->type_ + "\n      " + option->described_as_;
      text += option->has_default_ ? " [" + option->default_ + "]\n" : "\n";
    }
    for (const auto& command : commands_)
      text += "  " + command->name_ + "\n      " + command->description_ + "\n";
    return text;
  }

  std::string description_, name_;
  std::vector<std::unique_ptr<App>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
  std::function<void()> run_;
};
}  // namespace CLI
