#pragma once
#include <string>
#include <vector>

/// Text of a scenario inside shell scripts and YAML: whatever a name holds, it stays one word.
namespace stepcast::launch {
/// A word as bash reads it back: plain where every character is harmless, else in single quotes.
std::string shell_quoted(const std::string& word);
/// Several words, a space between them.
std::string shell_words(const std::vector<std::string>& words);
/// A double-quoted YAML scalar (YAML 1.2 section 7.3.1 takes JSON's strings as they are).
std::string yaml_quoted(const std::string& text);
/// "# text\n"; line breaks and other control characters become spaces, so that no name ends the
/// comment.
std::string comment_line(const std::string& text);
/// A name as RFC 1123 labels are: a-z, 0-9 and '-', at most 63 characters, a letter in front.
std::string dns_label(const std::string& name);
}  // namespace stepcast::launch
