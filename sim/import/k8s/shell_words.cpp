#include "sim/import/k8s/shell_words.hpp"

#include <cctype>

namespace stepcast::k8s {
namespace {
bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string joined_words(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

class Reader {
 public:
  Reader(const std::string& script, Variables& variables) : text_(script), variables_(variables) {}

  std::vector<std::vector<std::string>> commands() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(commands_);
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void step() {
    const char c = here();
    if (c == '\\' && (next() == '\n' || (next() == '\r'))) {
      at_ += text_.compare(at_, 3, "\\\r\n") == 0 ? 3 : 2;
    } else if (c == '\\') {
      add(next());
      at_ += 2;
    } else if (c == '\'') {
      single_quoted();
    } else if (c == '"') {
      double_quoted();
    } else if (c == '$') {
      dollar(false);
    } else if (c == '#' && !has_word_) {
      while (at_ < text_.size() && here() != '\n') ++at_;
    } else if (is_space(c)) {
      end_word();
      ++at_;
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      // "2>&1" and "&>" are redirections rather than ends.
      if (c == '&' && has_word_ && !word_.empty() && word_.back() == '>') {
        add(c);
      } else {
        end_word();
        if (c != '\n' || !is_in_array_) end_command();
      }
      ++at_;
    } else if (c == '(' && has_word_ && word_.ends_with('=')) {
      begin_array();
    } else if (c == ')' && is_in_array_) {
      end_word();
      end_array();
      ++at_;
    } else {
      add(c);
      ++at_;
    }
  }

  void add(char c) {
    if (c == '\0') return;
    word_ += c;
    has_word_ = true;
  }
  void single_quoted() {
    has_word_ = true;
    const std::size_t end = text_.find('\'', at_ + 1);
    word_ += text_.substr(at_ + 1, end == std::string::npos ? end : end - at_ - 1);
    at_ = end == std::string::npos ? text_.size() : end + 1;
  }
  void double_quoted() {
    has_word_ = true;
    ++at_;
    while (at_ < text_.size() && here() != '"') {
      if (here() == '\\' && next() == '\n') {
        at_ += 2;
      } else if (here() == '\\' && std::string("\"\\$`").find(next()) != std::string::npos) {
        word_ += next();
        at_ += 2;
      } else if (here() == '$') {
        dollar(true);
      } else {
        word_ += here();
        ++at_;
      }
    }
    ++at_;
  }

  /// $NAME, ${NAME}, ${NAME[@]}, ${NAME:-default}; anything else stays as written.
  void dollar(bool is_quoted) {
    if (next() == '(') return keep_balanced();
    if (next() == '{') {
      const std::size_t end = text_.find('}', at_);
      if (end == std::string::npos) return add(text_[at_++]);
      const std::string inside = text_.substr(at_ + 2, end - at_ - 2);
      std::size_t length = 0;
      while (length < inside.size() && is_name_character(inside[length])) ++length;
      const std::string name = inside.substr(0, length), rest = inside.substr(length);
      const std::string written = text_.substr(at_, end - at_ + 1);
      at_ = end + 1;
      const bool has_default = rest.starts_with(":-") || rest.starts_with("-");
      if (const auto it = variables_.find(name); it != variables_.end())
        put(it->second, is_quoted, rest == "[@]" || rest == "[*]");
      else if (has_default)
        put({rest.substr(rest.find('-') + 1)}, is_quoted, false);
      else
        put({written}, true, false);
      return;
    }
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_name_character(text_[end])) ++end;
    const std::string name = text_.substr(at_ + 1, end - at_ - 1);
    if (name.empty()) return add(text_[at_++]);
    at_ = end;
    if (const auto it = variables_.find(name); it != variables_.end())
      put(it->second, is_quoted, false);
    else
      put({"$" + name}, true, false);
  }
  void keep_balanced() {
    int depth = 0;
    do {
      if (here() == '(') ++depth;
      if (here() == ')') --depth;
      add(here());
      ++at_;
    } while (at_ < text_.size() && (depth > 0 || here() == '('));
  }
  /// An unquoted scalar splits at spaces; a quoted array keeps its words apart.
  void put(const std::vector<std::string>& words, bool is_quoted, bool is_array) {
    if (is_quoted && !is_array) {
      word_ += joined_words(words);
      has_word_ = true;
      return;
    }
    bool is_first = true;
    for (const std::string& value : words) {
      if (!is_first) end_word();
      is_first = false;
      for (const char c : value) {
        if (!is_quoted && (is_space(c) || c == '\n'))
          end_word();
        else
          add(c);
      }
    }
  }

  void end_word() {
    if (has_word_) (is_in_array_ ? array_ : words_).push_back(word_);
    word_.clear();
    has_word_ = false;
  }
  void end_command() {
    end_word();
    // NAME=VALUE words in front set variables, for the command behind them or for the rest.
    auto word = words_.begin();
    if (word != words_.end() && (*word == "export" || *word == "declare")) ++word;
    for (; word != words_.end() && is_assignment(*word); ++word) {
      const std::size_t equals = word->find('=');
      variables_[word->substr(0, equals)] = {word->substr(equals + 1)};
    }
    words_.erase(words_.begin(), word);
    if (!words_.empty()) commands_.push_back(std::move(words_));
    words_.clear();
  }
  static bool is_assignment(const std::string& word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0 ||
        std::isdigit(static_cast<unsigned char>(word[0])) != 0)
      return false;
    for (std::size_t i = 0; i < equals; ++i)
      if (!is_name_character(word[i])) return false;
    return true;
  }
  void begin_array() {
    array_name_ = word_.substr(0, word_.size() - 1);
    is_appending_ = array_name_.ends_with('+');
    if (is_appending_) array_name_.pop_back();
    word_.clear();
    has_word_ = false;
    is_in_array_ = true;
    array_.clear();
    ++at_;
  }
  void end_array() {
    is_in_array_ = false;
    std::vector<std::string>& into = variables_[array_name_];
    if (!is_appending_) into.clear();
    into.insert(into.end(), array_.begin(), array_.end());
  }

  const std::string& text_;
  Variables& variables_;
  std::size_t at_ = 0;
  std::string word_, array_name_;
  bool has_word_ = false, is_in_array_ = false, is_appending_ = false;
  std::vector<std::string> words_, array_;
  std::vector<std::vector<std::string>> commands_;
};
}  // namespace

std::vector<std::vector<std::string>> commands_of(const std::string& script, Variables variables) {
  return Reader(script, variables).commands();
}
}  // namespace stepcast::k8s
