#include "sim/validate/training_scenario.hpp"

#include <fmt/format.h>

#include "sim/io/json.hpp"

namespace stepcast {
namespace {

struct Unfit {
  std::string reason;
};

/// Why a cell cannot be used: it is empty, or what it holds is not what it should.
std::string fault_of(const TableRow& row, const std::string& column, const char* expected) {
  const std::string& text = row.text(column);
  if (text.empty()) return column + " is not given";
  return fmt::format("{} \"{}\" is no {}", column, text, expected);
}

std::int64_t positive(const TableRow& row, const std::string& column, std::int64_t fallback = 0) {
  if (row.text(column).empty() && fallback > 0) return fallback;
  const auto value = row.integer(column);
  if (!value || *value <= 0) throw Unfit{fault_of(row, column, "whole number above 0")};
  return *value;
}

/// Model shape: the preset that a rule named, with the row's depth (proxy models have fewer
/// layers), or built from the row's own columns as a GPT of that shape (MLP 4 x hidden unless a
/// rule says otherwise).
void put_model(const TableRow& row, Json& scenario) {
  Json& model = scenario["model"];
  if (!model.is_object()) model = Json::object();
  const auto keep = [&](const char* key, std::int64_t value) {
    if (!model.contains(key)) model[key] = value;
  };
  if (model.contains("preset")) {
    if (const auto layers = row.integer("layers")) model["layers"] = *layers;
    return;
  }
  if (model.contains("kind") && model["kind"] != "transformer") return;
  if (row.text("hidden").empty())
    throw Unfit{"no preset fits the model's name and its shape is not given"};
  const std::int64_t hidden = positive(row, "hidden");
  model["kind"] = "transformer";
  keep("layers", positive(row, "layers"));
  keep("hidden", hidden);
  keep("heads", positive(row, "heads"));
  keep("ffn", 4 * hidden);
  keep("vocab", positive(row, "vocab"));
}

/// Blocks per (stage, chunk) when the embedding and the loss stand in the pipeline as a layer each:
/// the first and the last chunk hold one block less. Megatron calls it
/// account-for-embedding/loss-in-pipeline-split.
void put_uneven_stages(std::int64_t layers, std::int64_t chunks, Json& parallel) {
  if (chunks <= 1 || layers % chunks == 0 || (layers + 2) % chunks != 0) return;
  Json blocks = Json::array();
  const std::int64_t each = (layers + 2) / chunks;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk)
    blocks.push_back(each - (chunk == 0 ? 1 : 0) - (chunk + 1 == chunks ? 1 : 0));
  parallel["layers_per_stage"] = blocks;
}

struct Batch {
  std::int64_t global = 0, micro = 0;  // micro 0: not given
};

Batch batch_of(const TableRow& row, std::int64_t dp) {
  Batch batch;
  if (const auto micro = row.integer("mbs")) batch.micro = *micro;
  if (const auto global = row.integer("gbs"))
    batch.global = *global;
  else if (const auto steps = row.integer("grad_accum"); steps && batch.micro > 0)
    batch.global = dp * batch.micro * *steps;
  else
    throw Unfit{fault_of(row, "gbs", "whole number")};
  if (batch.global <= 0 || batch.micro < 0) throw Unfit{"the batch is not positive"};
  return batch;
}

/// GPUs per scale-up domain: the largest equal share of the GPUs that fits one (128 GPUs in racks
/// of 72: 64 each).
std::int64_t domain_share(std::int64_t gpus, std::int64_t domain) {
  for (std::int64_t share = std::min(gpus, domain); share > 1; --share)
    if (gpus % share == 0) return share;
  return 1;
}

void put_cluster(const TableRow& row, std::int64_t gpus, Json& scenario) {
  Json& cluster = scenario["cluster"];
  if (!cluster.is_object() || !cluster.contains("preset"))
    throw Unfit{fmt::format("no cluster is known for accelerator \"{}\"", row.text("accelerator"))};
  const std::int64_t per_node = domain_share(gpus, positive(row, "accel_per_node", 8));
  put_nodes(cluster, gpus / per_node, per_node, row.text("interconnect"));
}

StepQuestion build(const AssumedRow& assumed, const AssumptionSet& set) {
  const TableRow& row = assumed.row;
  Json scenario = Json::parse(assumed.scenario);
  if (row.text("status") == "OOM") throw Unfit{"ran out of memory: no step was measured"};
  const std::int64_t gpus = positive(row, "n_accel");
  put_model(row, scenario);

  Json& parallel = scenario["parallel"];
  if (!parallel.is_object()) parallel = Json::object();
  const std::int64_t tp = positive(row, "tp", 1), pp = positive(row, "pp", 1),
                     cp = positive(row, "cp", 1);
  const std::int64_t dp = gpus / (tp * pp * cp);
  if (dp * tp * pp * cp != gpus)
    throw Unfit{
        fmt::format("tp {} x pp {} x cp {} does not divide {} accelerators", tp, pp, cp, gpus)};
  if (const auto stated = row.integer("dp"); stated && *stated != dp && *stated * tp * pp != gpus)
    throw Unfit{"tp x pp x dp differs from the number of accelerators"};
  parallel["tp"] = tp;
  parallel["pp"] = pp;
  parallel["cp"] = cp;
  parallel["dp"] = dp;
  if (const auto ep = row.integer("ep"); ep && *ep > 1) parallel["ep"] = *ep;
  const std::int64_t virtual_stages = pp > 1 ? positive(row, "vpp", 1) : 1;
  if (virtual_stages > 1) {
    parallel["schedule"] = "interleaved";
    parallel["virtual_stages"] = virtual_stages;
  }
  if (const auto layers = row.integer("layers"))
    put_uneven_stages(*layers, pp * virtual_stages, parallel);

  const Batch batch = batch_of(row, dp);
  Json& training = scenario["training"];
  if (!training.is_object()) training = Json::object();
  training["global_batch"] = batch.global;
  training["sequence_length"] = positive(row, "seq_len");
  StepQuestion question;
  if (batch.micro > 0) {
    training["micro_batch"] = batch.micro;
  } else {
    for (const std::int64_t micro : set.micro_batches)
      if (batch.global % (dp * micro) == 0) question.micro_batches.push_back(micro);
    if (question.micro_batches.empty())
      throw Unfit{"mbs is not given and no assumed one divides the batch"};
  }
  put_cluster(row, gpus, scenario);
  Json document{{"stepcast", 1}};
  document.update(scenario);
  question.scenario = document.dump(2);
  return question;
}
}  // namespace

void put_nodes(Json& cluster, std::int64_t nodes, std::int64_t gpus_per_node,
               const std::string& interconnect) {
  cluster["nodes"] = nodes;
  cluster["gpus_per_node"] = gpus_per_node;
  if (nodes <= 1) return;
  if (const auto nics = nics_of_text(interconnect, gpus_per_node);
      nics && !cluster.contains("nics")) {
    cluster["nics"] = nics->nics;
    cluster["nic_Gbps"] = nics->gigabits;
  }
  const std::string transport = transport_of_text(interconnect);
  if (transport.empty()) return;
  Json& fabric = cluster["fabric"];
  if (!fabric.is_object()) fabric = Json::object();
  if (!fabric.contains("transport")) fabric["transport"] = transport;
}

StepOrReason step_question(const AssumedRow& assumed, const AssumptionSet& set) {
  if (!assumed.skip.empty()) return assumed.skip;
  try {
    return build(assumed, set);
  } catch (const Unfit& unfit) {
    return unfit.reason;
  }
}

SecondsOrReason measured_step(const TableRow& row, const std::vector<std::string>& columns) {
  const auto number = [&](const char* column) { return row.number(column).value_or(0); };
  const double batch = number("gbs"), sequence = number("seq_len"), gpus = number("n_accel");
  const double layers = number("layers"), hidden = number("hidden"), vocab = number("vocab");
  const double shape = batch * sequence * layers * hidden * hidden;
  const double attention = sequence / (6 * hidden);
  const double hardware_flops = 96 * shape * (1 + attention + vocab / (16 * layers * hidden));
  const double model_flops = 72 * shape * (1 + attention + vocab / (12 * layers * hidden));
  for (const std::string& column : columns) {
    double seconds = 0;
    if (column == "step_time_s")
      seconds = number("step_time_s");
    else if (column == "tokens_per_s")
      seconds = batch * sequence / number("tokens_per_s");
    else if (column == "tokens_per_s_per_accel")
      seconds = batch * sequence / (number("tokens_per_s_per_accel") * gpus);
    else if (column == "samples_per_s")
      seconds = batch / number("samples_per_s");
    else if (column == "hardware_tflops")
      seconds = hardware_flops / (gpus * number("tflops_per_accel") * 1e12);
    else if (column == "model_tflops")
      seconds = model_flops / (gpus * number("tflops_per_accel") * 1e12);
    else if (column == "mfu_pct")
      seconds = model_flops / (gpus * number("peak_tflops") * 1e12 * number("mfu_pct") / 100);
    else
      return fmt::format("the assumptions name no known measure (\"{}\")", column);
    if (seconds > 0 && seconds < 1e7) return seconds;  // an empty cell gives 0, infinity or NaN
  }
  for (const std::string& column : columns)
    if (!row.text(column).empty()) return fault_of(row, column, "number above 0");
  return std::string("no step time, rate or FLOP/s is given");
}

void add_step(const std::string& table, const std::string& id, const AssumedRow& assumed,
              const AssumptionSet& set, Questions& questions) {
  StepOrReason step = step_question(assumed, set);
  if (const auto* reason = std::get_if<std::string>(&step)) {
    questions.skipped.push_back({table, id, *reason});
    return;
  }
  const SecondsOrReason measured = measured_step(assumed.row, set.measured);
  if (const auto* reason = std::get_if<std::string>(&measured)) {
    questions.skipped.push_back({table, id, *reason});
    return;
  }
  questions.list.push_back({table,
                            fmt::format("{} line {}", assumed.row.file(), assumed.row.line()),
                            std::get<StepQuestion>(std::move(step)),
                            {{id, Metric::step_time, std::get<double>(measured), 0}}});
}
}  // namespace stepcast
