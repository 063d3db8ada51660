#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "sim/core/enum_text.hpp"
#include "sim/core/result.hpp"
#include "sim/timeline/filter/filter_tree.hpp"

namespace stepcast::trace {
const std::vector<FieldInfo>& filter_fields() {
  static const std::vector<FieldInfo> fields{{Field::name, "name", FieldKind::text},
                                             {Field::cat, "cat", FieldKind::text},
                                             {Field::category, "category", FieldKind::text},
                                             {Field::stream, "stream", FieldKind::text},
                                             {Field::node, "node", FieldKind::text},
                                             {Field::rank_name, "rank_name", FieldKind::text},
                                             {Field::dur, "dur", FieldKind::time},
                                             {Field::self, "self", FieldKind::time},
                                             {Field::start, "start", FieldKind::time},
                                             {Field::end, "end", FieldKind::time},
                                             {Field::rank, "rank", FieldKind::count},
                                             {Field::depth, "depth", FieldKind::count},
                                             {Field::step, "step", FieldKind::count},
                                             {Field::bytes, "bytes", FieldKind::bytes}};
  return fields;
}
std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}
bool holds(const std::vector<NumberRange>& ranges, double value) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const NumberRange& r) {
    return (r.is_low_open ? value > r.low : value >= r.low) &&
           (r.is_high_open ? value < r.high : value <= r.high);
  });
}

namespace {
using Kind = FilterToken::Kind;
using NodePtr = std::shared_ptr<const FilterNode>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr int kDeepest = 200;  // parentheses; a parser that recurses needs a floor

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(filter_tokens(text)) {}
  NodePtr parse() {
    if (peek().kind == Kind::end) return nullptr;
    NodePtr node = any_of();
    if (peek().kind != Kind::end)
      fail(peek(), "\"" + peek().text + "\" was not expected here", "join tests with and, or");
    return node;
  }

 private:
  const FilterToken& peek() const { return tokens_[at_]; }
  const FilterToken& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_symbol(std::string_view symbol) const {
    return peek().kind == Kind::symbol && peek().text == symbol;
  }
  bool is_word(std::string_view word) const {
    return peek().kind == Kind::word && lower_case(peek().text) == word;
  }
  [[noreturn]] static void fail(const FilterToken& token, std::string message,
                                std::string hint = "") {
    throw FilterError{token.position, std::max<std::size_t>(1, token.length), std::move(message),
                      std::move(hint)};
  }
  static NodePtr joined_as(FilterNode::Kind kind, std::vector<NodePtr> children) {
    if (children.size() == 1 && kind != FilterNode::Kind::none_of) return children.front();
    auto node = std::make_shared<FilterNode>();
    node->kind = kind, node->children = std::move(children);
    return node;
  }
  NodePtr any_of() {
    std::vector<NodePtr> children{all_of()};
    while (is_word("or") || is_symbol("||")) take(), children.push_back(all_of());
    return joined_as(FilterNode::Kind::any_of, std::move(children));
  }
  NodePtr all_of() {
    std::vector<NodePtr> children{unary()};
    for (;;) {
      if (is_word("and") || is_symbol("&&"))
        take();
      else if (peek().kind == Kind::end || is_word("or") || is_symbol("||") || is_symbol(")"))
        break;  // tests side by side are joined too
      else if (peek().kind == Kind::symbol && !is_symbol("(") && !is_symbol("!"))
        break;
      children.push_back(unary());
    }
    return joined_as(FilterNode::Kind::all_of, std::move(children));
  }
  NodePtr unary() {
    if (++depth_ > kDeepest) fail(peek(), "the filter is nested too deeply", "at most 200 levels");
    NodePtr node;
    if (is_word("not") || is_symbol("!")) {
      take();
      node = joined_as(FilterNode::Kind::none_of, {unary()});
    } else if (is_symbol("(")) {
      const FilterToken open = take();
      node = any_of();
      if (!is_symbol(")")) fail(open, "the parenthesis is not closed", "put ) behind its tests");
      take();
    } else {
      node = test();
    }
    --depth_;
    return node;
  }
  bool is_operator_next() const {
    const FilterToken& next = tokens_[std::min(at_ + 1, tokens_.size() - 1)];
    if (next.kind == Kind::word) return lower_case(next.text) == "in";
    return next.kind == Kind::symbol && next.text != "(" && next.text != ")" && next.text != "&&" &&
           next.text != "||" && next.text != "!" && next.text != "{" && next.text != "}" &&
           next.text != "," && next.text != "..";
  }
  NodePtr test() {
    const FilterToken token = peek();
    if (token.kind == Kind::end)
      fail(token, "something is missing here", "a test such as dur > 1ms, or a name");
    if (token.kind == Kind::symbol)
      fail(token, "\"" + token.text + "\" needs a field before it",
           "for example: dur " + token.text + " 1ms");
    if (token.kind == Kind::text || !is_operator_next()) {  // a bare text searches the name
      take();
      auto node = std::make_shared<FilterNode>();
      node->kind = FilterNode::Kind::text;
      node->texts = {lower_case(token.text)};
      return node;
    }
    take();
    for (const FieldInfo& info : filter_fields())
      if (lower_case(token.text) == info.name)
        return info.kind == FieldKind::text ? text_test(info) : number_test(info);
    std::vector<std::string> names;
    for (const FieldInfo& info : filter_fields()) names.emplace_back(info.name);
    const std::string near = nearest_name(token.text, names);
    fail(token, "unknown field \"" + token.text + "\"",
         (near.empty() ? "" : near + "? ") + "fields are " + joined(names));
  }
  static NodePtr negated(NodePtr node, bool is_negated) {
    return is_negated ? joined_as(FilterNode::Kind::none_of, {std::move(node)}) : node;
  }

  NodePtr text_test(const FieldInfo& info) {
    auto node = std::make_shared<FilterNode>();
    node->kind = FilterNode::Kind::text, node->field = info.field;
    const FilterToken op = take();
    const std::string sign = lower_case(op.text);
    bool is_negated = false;
    if (sign == "=" || sign == "==")
      node->test = TextTest::equal;
    else if (sign == "!=")
      node->test = TextTest::equal, is_negated = true;
    else if (sign == "~")
      node->test = TextTest::contains;
    else if (sign == "!~")
      node->test = TextTest::contains, is_negated = true;
    else if (sign == "=~")
      node->test = TextTest::regex;
    else if (sign == "in")
      node->test = TextTest::equal;
    else
      fail(op, std::string(info.name) + " is a text and has no order",
           "use = != ~ !~ =~ or in { }");
    if (sign == "in") {
      if (!is_symbol("{"))
        fail(peek(), "a list is expected behind in",
             "for example: " + std::string(info.name) + " in {a, b}");
      const FilterToken open = take();
      for (;;) {
        node->texts.push_back(value_text());
        if (is_symbol(",")) {
          take();
          continue;
        }
        if (is_symbol("}")) {
          take();
          break;
        }
        fail(peek().kind == Kind::end ? open : peek(), "the list is not closed", "put } behind it");
      }
    } else {
      const FilterToken value = peek();
      node->texts.push_back(value_text());
      if (node->test == TextTest::regex) {
        try {
          static_cast<void>(
              std::regex(node->texts.back(), std::regex::ECMAScript | std::regex::icase));
        } catch (const std::regex_error& error) {
          fail(value, std::string("is no regular expression: ") + error.what());
        }
      } else if (info.field == Field::category && node->test == TextTest::equal &&
                 !enum_from_text<SliceCategory>(node->texts.back())) {
        fail(value, "unknown category \"" + node->texts.back() + "\"",
             "categories are " + joined(enum_texts<SliceCategory>()));
      }
    }
    if (node->test == TextTest::contains) node->texts.back() = lower_case(node->texts.back());
    return negated(std::move(node), is_negated);
  }
  std::string value_text() {
    const FilterToken& value = peek();
    if (value.kind == Kind::symbol || value.kind == Kind::end)
      fail(value, "a text is expected here", "put it in quotes");
    return take().text;
  }

  NodePtr number_test(const FieldInfo& info) {
    auto node = std::make_shared<FilterNode>();
    node->kind = FilterNode::Kind::number, node->field = info.field;
    const FilterToken op = take();
    const std::string sign = lower_case(op.text);
    bool is_negated = false;
    if (sign == "in") {
      if (is_symbol("{")) {
        const FilterToken open = take();
        for (;;) {
          node->numbers.push_back(range(info));
          if (is_symbol(",")) {
            take();
            continue;
          }
          if (is_symbol("}")) {
            take();
            break;
          }
          fail(peek().kind == Kind::end ? open : peek(), "the list is not closed",
               "put } behind it");
        }
      } else {
        node->numbers.push_back(range(info));
      }
    } else {
      const double value = number(info);
      if (sign == "=" || sign == "==")
        node->numbers = {{value, value}};
      else if (sign == "!=")
        node->numbers = {{value, value}}, is_negated = true;
      else if (sign == "<")
        node->numbers = {{-kInfinite, value, false, true}};
      else if (sign == "<=")
        node->numbers = {{-kInfinite, value}};
      else if (sign == ">")
        node->numbers = {{value, kInfinite, true, false}};
      else if (sign == ">=")
        node->numbers = {{value, kInfinite}};
      else
        fail(op, std::string(info.name) + " is a number", "use = != < <= > >= or in a..b");
    }
    return negated(std::move(node), is_negated);
  }
  NumberRange range(const FieldInfo& info) {
    const FilterToken first = peek();
    const double low = number(info);
    if (!is_symbol("..")) return {low, low};
    take();
    const double high = number(info);
    if (high < low) fail(first, "the range ends before it begins", "write the smaller value first");
    return {low, high};
  }
  double number(const FieldInfo& info) {
    const FilterToken token = peek();
    if (token.kind != Kind::number)
      fail(token, std::string("a number is expected for ") + info.name,
           info.kind == FieldKind::time ? "for example 1.5ms" : "for example 16");
    take();
    char* end = nullptr;
    const double value = std::strtod(token.text.c_str(), &end);
    const std::string unit(end);
    if (info.kind == FieldKind::count) {
      if (!unit.empty())
        fail(token, std::string(info.name) + " has no unit", "leave \"" + unit + "\" away");
      return value;
    }
    static const std::vector<std::pair<std::string, double>> times{
        {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}};
    static const std::vector<std::pair<std::string, double>> bytes{
        {"", 1},     {"b", 1},      {"kb", 1e3},        {"mb", 1e6},
        {"gb", 1e9}, {"kib", 1024}, {"mib", 1048576.0}, {"gib", 1073741824.0}};
    for (const auto& [name, factor] : info.kind == FieldKind::time ? times : bytes)
      if (lower_case(unit) == name) return value * factor;
    if (info.kind == FieldKind::time && unit.empty()) {
      if (value == 0) return 0;
      fail(token, "a time needs a unit", "ns, us, ms, s or min");
    }
    fail(token, "unknown unit \"" + unit + "\"",
         info.kind == FieldKind::time ? "ns, us, ms, s or min" : "B, KB, MB, GB, KiB, MiB or GiB");
  }

  std::vector<FilterToken> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
};
}  // namespace

Filter::Filter() = default;
std::variant<Filter, FilterError> Filter::parse(std::string_view text) {
  try {
    Filter filter;
    filter.text_ = text;
    filter.root_ = Parser(text).parse();
    return filter;
  } catch (const FilterError& error) {
    return error;
  }
}

Completion complete(std::string_view text, std::size_t position, const TraceStore* trace) {
  position = std::min(position, text.size());
  Completion completion;
  std::size_t from = position;
  while (from > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[from - 1])) != 0 || text[from - 1] == '_'))
    --from;
  completion.from = from;
  const std::string typed = lower_case(text.substr(from, position - from));
  std::vector<FilterToken> before;
  try {
    before = filter_tokens(text.substr(0, from));
  } catch (const FilterError&) {
    return completion;  // inside an open text
  }
  before.pop_back();
  const auto offer = [&](std::string_view word) {
    if (completion.words.size() < 20 && lower_case(word).starts_with(typed) &&
        lower_case(word) != typed)
      completion.words.emplace_back(word);
  };
  const FieldInfo* field = nullptr;
  const auto field_named = [&](const FilterToken& token) -> const FieldInfo* {
    for (const FieldInfo& info : filter_fields())
      if (token.kind == Kind::word && lower_case(token.text) == info.name) return &info;
    return nullptr;
  };
  if (!before.empty()) field = field_named(before.back());
  if (field != nullptr) {
    for (const char* sign : {"=", "!=", "~", "!~", "=~", "<", "<=", ">", ">=", "in"}) {
      const bool is_order = sign[0] == '<' || sign[0] == '>',
                 is_match = sign[std::string_view(sign).size() - 1] == '~';
      if (field->kind == FieldKind::text ? !is_order : !is_match) offer(sign);
    }
    return completion;
  }
  const FieldInfo* valued = before.size() >= 2 ? field_named(before[before.size() - 2]) : nullptr;
  if (valued != nullptr && before.back().kind == Kind::symbol) {
    if (valued->field == Field::category)
      for (const std::string& word : enum_texts<SliceCategory>()) offer(word);
    if (valued->field == Field::name && trace != nullptr)
      for (const Op& op : trace->ops()) offer(trace->text(op.name));
    return completion;
  }
  for (const FieldInfo& info : filter_fields()) offer(info.name);
  if (!before.empty())
    for (const char* word : {"and", "or", "not"}) offer(word);
  return completion;
}
}  // namespace stepcast::trace
