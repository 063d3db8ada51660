#include "sim/import/replay/workload_file.hpp"

#include <fmt/format.h>

#include <cmath>

#include "sim/import/common/byte_source.hpp"
#include "sim/io/json.hpp"
#include "sim/io/object_reader.hpp"

namespace stepcast {
namespace {
constexpr int kVersion = 1;
constexpr std::int64_t kLimit = std::int64_t{2} << 30;
constexpr std::array<std::string_view, 12> kColumns{
    "kind",       "lane",  "name", "duration_ns", "delay_ns", "bytes",
    "collective", "group", "peer", "match",       "step",     "after"};

/// Reads the array of one op; any oddity is one problem and a skipped op.
struct OpReader {
  const Json& row;
  bool is_bad = false;
  double number(std::size_t i, double low, double high) {
    if (i >= row.size() || !row[i].is_number()) return is_bad = true, 0;
    const double v = row[i].get<double>();
    if (!(v >= low && v <= high)) is_bad = true;
    return is_bad ? 0 : v;
  }
  template <class E>
  E choice(std::size_t i) {
    const auto n = number(i, 0, static_cast<double>(EnumText<E>::table.size() - 1));
    return EnumText<E>::table[static_cast<std::size_t>(n)].first;
  }
};
/// Nanoseconds to a picosecond, so that thousands of generated ops in a row keep their sum; whole
/// where a recording gave whole ones.
double ns_of(double seconds) { return std::round(seconds * 1e12) / 1e3; }
template <class E>
Json texts_json() {
  Json list = Json::array();
  for (const auto& entry : EnumText<E>::table) list.push_back(entry.second);
  return list;
}
}  // namespace

std::size_t Workload::op_count() const {
  std::size_t count = 0;
  for (const WorkRank& rank : ranks) count += rank.ops.size();
  return count;
}

void write_workload(const Workload& workload, const std::string& path) {
  // Written by hand, row by row: a tree of a million ops would take gigabytes.
  std::string out = fmt::format(
      "{{\"stepcast_workload\": {}, \"origin\": {}, \"step_rule\": \"{}\", \"messages\": \"{}\", "
      "\"device\": {},\n",
      kVersion, Json(workload.origin).dump(), text_of(workload.rule), text_of(workload.messages),
      Json(workload.device).dump(-1, ' ', false, Json::error_handler_t::replace));
  Json columns = Json::array();
  for (const auto column : kColumns) columns.push_back(column);
  out += "\"columns\": " + columns.dump() + ",\n\"kinds\": " + texts_json<WorkKind>().dump() +
         ",\n\"collectives\": " + texts_json<Collective>().dump() + ",\n\"names\": [";
  for (NameId i = 0; i < workload.names.size(); ++i)
    out += (i == 0 ? "" : ",") +
           Json(workload.names.text_of(i)).dump(-1, ' ', false, Json::error_handler_t::replace);
  out += "],\n\"groups\": [";
  for (std::size_t i = 0; i < workload.groups.size(); ++i) {
    const WorkGroup& g = workload.groups[i];
    out += (i == 0 ? "" : ",") +
           Json{{"name", g.name}, {"kind", text_of(g.kind)}, {"size", g.size}, {"ranks", g.ranks}}
               .dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  out += "],\n\"steps\": [";
  for (std::size_t i = 0; i < workload.steps.size(); ++i)
    out += fmt::format("{}{{\"number\": {}, \"measured_s\": {:.12f}}}", i == 0 ? "" : ",",
                       workload.steps[i].number, workload.steps[i].measured_s);
  out += "],\n\"notes\": " +
         Json(workload.notes).dump(-1, ' ', false, Json::error_handler_t::replace) +
         ",\n\"ranks\": [\n";
  for (std::size_t r = 0; r < workload.ranks.size(); ++r) {
    const WorkRank& rank = workload.ranks[r];
    out += fmt::format("{}{{\"rank\": {}, \"stage\": {}, \"lanes\": {}, \"ops\": [\n",
                       r == 0 ? "" : ",\n", rank.rank, rank.stage,
                       Json(rank.lanes).dump(-1, ' ', false, Json::error_handler_t::replace));
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      const WorkOp& o = rank.ops[i];
      out += fmt::format("{}[{},{},{},{},{},{},{},{},{},{},{},[", i == 0 ? "" : ",\n",
                         static_cast<int>(o.kind), o.lane, o.name, ns_of(o.duration_s),
                         ns_of(o.delay_s), o.bytes, static_cast<int>(o.collective), o.group, o.peer,
                         o.match, o.step);
      for (std::size_t k = 0; k < o.after.size(); ++k)
        out += fmt::format("{}{}", k == 0 ? "" : ",", o.after[k]);
      out += "]]";
    }
    out += "]}";
  }
  out += "]}\n";
  write_compressed(path, out);
}

bool sniff_workload(std::string_view head) {
  return head.substr(0, 200).find("\"stepcast_workload\"") != std::string_view::npos;
}

Result<Workload> read_workload(const std::string& path) {
  Problems problems;
  Json document;
  try {
    const std::string text = read_all(path, kLimit);
    auto parsed = parse_json(text, path);
    if (!parsed) return parsed.problems();
    document = std::move(*parsed);
  } catch (const InputError& e) {
    return e.problems;
  }
  if (!document.is_object() || !document.contains("stepcast_workload")) {
    problems.add({path, "", "is no workload file",
                  "make one with stepcast import ... -o NAME.workload.json.zst"});
    return problems;
  }
  ObjectReader reader(document, path, "", problems);
  Workload w;
  const auto version = reader.integer("stepcast_workload", {.min = 1, .max = 1000});
  if (version != kVersion)
    reader.problem("stepcast_workload", fmt::format("version {} is not known", version),
                   "this program reads version 1");
  w.origin = reader.text("origin", "unknown");
  w.rule = reader.one_of<StepRule>("step_rule", StepRule::span);
  w.messages = reader.one_of<MessageRule>("messages", MessageRule::rendezvous);
  w.device = reader.text("device", "");
  for (const auto& name : reader.texts("names")) {
    const NameId id = w.names.id_of(name);
    if (id + 1 != w.names.size())
      problems.add({path, "/names", "\"" + name + "\" stands twice", ""});
  }
  for (ObjectReader& g : reader.objects("groups")) {
    WorkGroup group{g.text("name"),
                    g.one_of<GroupKind>("kind"),
                    static_cast<int>(g.integer("size", {.max = 100'000'000})),
                    {}};
    for (const auto rank : g.integers("ranks", {.max = 100'000'000}))
      group.ranks.push_back(static_cast<int>(rank));
    g.done();
    w.groups.push_back(std::move(group));
  }
  for (ObjectReader& s : reader.objects("steps")) {
    w.steps.push_back({s.integer("number"), s.number("measured_s", {.fallback = 0, .max = 1e7})});
    s.done();
  }
  w.notes = reader.texts("notes");
  // The lists that give the numbers of a row their meaning; a reader of another program needs them,
  // here they must agree.
  if (const Json* kinds = reader.raw("kinds"); kinds != nullptr && *kinds != texts_json<WorkKind>())
    problems.add({path, "/kinds", "differs from this version's list", ""});
  if (const Json* list = reader.raw("collectives");
      list != nullptr && *list != texts_json<Collective>())
    problems.add({path, "/collectives", "differs from this version's list", ""});
  reader.raw("columns");
  for (ObjectReader& r : reader.objects("ranks")) {
    WorkRank rank;
    rank.rank = static_cast<int>(r.integer("rank", {.max = 100'000'000}));
    rank.stage =
        static_cast<int>(r.integer("stage", {.fallback = -1, .min = -1, .max = 1'000'000}));
    rank.lanes = r.texts("lanes");
    const Json* ops = r.raw("ops");
    if (ops == nullptr || !ops->is_array()) {
      r.problem("ops", "a list of ops is expected");
      continue;
    }
    int bad = 0;
    for (const Json& row : *ops) {
      OpReader in{row};
      WorkOp o;
      if (!row.is_array() || row.size() < 12) {
        ++bad;
        continue;
      }
      o.kind = in.choice<WorkKind>(0);
      o.lane = static_cast<std::uint16_t>(in.number(1, 0, 65535));
      o.name = static_cast<NameId>(in.number(2, 0, 4e9));
      o.duration_s = in.number(3, 0, 1e16) * 1e-9, o.delay_s = in.number(4, 0, 1e16) * 1e-9;
      o.bytes = static_cast<std::int64_t>(in.number(5, 0, 1e15));
      o.collective = in.choice<Collective>(6);
      o.group = static_cast<std::int32_t>(in.number(7, -1, 1e9)),
      o.peer = static_cast<std::int32_t>(in.number(8, -1, 1e9));
      o.match = static_cast<std::int64_t>(in.number(9, 0, 9e15)),
      o.step = static_cast<std::int32_t>(in.number(10, -1, 1e9));
      if (!row[11].is_array())
        in.is_bad = true;
      else
        for (std::size_t k = 0; k < row[11].size() && !in.is_bad; ++k) {
          if (row[11][k].is_number_unsigned() && row[11][k].get<std::uint64_t>() < 0xffffffffu)
            o.after.push_back(row[11][k].get<std::uint32_t>());
          else
            in.is_bad = true;
        }
      if (in.is_bad) {
        ++bad;
        continue;
      }
      rank.ops.push_back(std::move(o));
    }
    if (bad > 0)
      r.problem("ops", fmt::format("{} rows are no op of {} columns", bad, kColumns.size()));
    r.done();
    w.ranks.push_back(std::move(rank));
  }
  reader.done();
  if (problems.empty())
    if (const std::string fault = workload_fault(w); !fault.empty())
      problems.add({path, "", fault, ""});
  if (!problems.empty()) return problems;
  return w;
}

std::string workload_fault(const Workload& w) {
  if (w.ranks.empty()) return "holds no rank";
  for (const WorkRank& rank : w.ranks)
    for (std::size_t i = 0; i < rank.ops.size(); ++i) {
      const WorkOp& o = rank.ops[i];
      const auto at = [&] { return fmt::format("rank {} op {}: ", rank.rank, i); };
      if (o.lane >= rank.lanes.size()) return at() + "lane out of range";
      if (o.name >= w.names.size()) return at() + "name out of range";
      if (o.step >= static_cast<std::int32_t>(w.steps.size())) return at() + "step out of range";
      if (o.kind == WorkKind::collective &&
          (o.group < 0 || o.group >= static_cast<std::int32_t>(w.groups.size())))
        return at() + "group out of range";
      if (!(o.duration_s >= 0) || !(o.delay_s >= 0)) return at() + "negative time";
      for (const auto a : o.after)
        if (a >= i) return at() + "waits for a later op";
    }
  return "";
}
}  // namespace stepcast
