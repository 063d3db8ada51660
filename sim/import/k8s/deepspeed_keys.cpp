#include <fmt/format.h>

#include "sim/import/k8s/parts.hpp"

namespace stepcast::k8s {
namespace {
/// The value at a pointer; nullptr where it is absent or "auto" (Hugging Face fills it in).
const Json* said(const Json& config, const std::string& pointer, Reading& reading) {
  const Json::json_pointer at(pointer);
  if (!config.contains(at)) return nullptr;
  const Json& value = config.at(at);
  if (value == "auto") {
    reading.unknown.push_back("DeepSpeed's " + pointer + " is \"auto\": the trainer chooses it");
    return nullptr;
  }
  return &value;
}
std::optional<std::int64_t> number(const Json& config, const std::string& pointer,
                                   Reading& reading) {
  const Json* value = said(config, pointer, reading);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number() || value->get<double>() < 0 || value->get<double>() > 1e15) {
    reading.problem(1, "DeepSpeed's " + pointer + ": found " + value->dump().substr(0, 60) +
                           ", expected a whole number");
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value->get<double>());  // 5e8 is written as a float
}
bool is_true(const Json& config, const std::string& pointer, Reading& reading) {
  const Json* value = said(config, pointer, reading);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

void apply_batch(const Json& config, std::int64_t world, Reading& reading) {
  const auto micro = number(config, "/train_micro_batch_size_per_gpu", reading);
  if (micro) reading.put("/training/micro_batch", *micro);
  if (const auto global = number(config, "/train_batch_size", reading))
    reading.put("/training/global_batch", *global);
  else if (const auto steps = number(config, "/gradient_accumulation_steps", reading);
           micro && steps)
    reading.put("/training/global_batch", *micro * *steps * world);
}

void apply_zero(const Json& config, Reading& reading) {
  const std::int64_t stage = number(config, "/zero_optimization/stage", reading).value_or(0);
  const bool offloads_parameters =
      config.contains(Json::json_pointer("/zero_optimization/offload_param"));
  const bool offloads = offloads_parameters ||
                        config.contains(Json::json_pointer("/zero_optimization/offload_optimizer"));
  reading.put("/strategy/preset", fmt::format("deepspeed-zero{}{}", stage == 0 ? 1 : stage,
                                              offloads && stage >= 2 ? "-offload" : ""));
  reading.put("/parallel/zero_stage", stage);
  if (offloads) reading.put("/strategy/offload", offloads_parameters ? "parameters" : "optimizer");
  if (const auto bucket = number(config, "/zero_optimization/reduce_bucket_size", reading);
      bucket && *bucket > 0)
    reading.put("/strategy/bucket_elements", *bucket);
  if (const Json* overlap = said(config, "/zero_optimization/overlap_comm", reading);
      overlap != nullptr && overlap->is_boolean())
    reading.put("/strategy/overlap_grad_reduce", *overlap);
  if (const auto shard = number(config, "/zero_optimization/mics_shard_size", reading);
      shard && *shard > 0)
    reading.put("/parallel/shard_size", *shard);
}

void apply_precision(const Json& config, Reading& reading) {
  const std::string precision = is_true(config, "/bf16/enabled", reading)   ? "bf16"
                                : is_true(config, "/fp16/enabled", reading) ? "fp16"
                                                                            : "fp32";
  reading.put("/training/precision", precision);
  const Json* sent = said(config, "/communication_data_type", reading);
  const std::string type = sent != nullptr && sent->is_string() ? sent->get<std::string>() : "";
  reading.put("/training/gradient_precision", type == "bfp16" || type == "bf16" ? "bf16"
                                              : type.empty()                    ? precision
                                                                                : type);
}

void apply_optimizer(const Json& config, Reading& reading) {
  const Json* type = said(config, "/optimizer/type", reading);
  if (type == nullptr || !type->is_string()) return;
  const std::string name = type->get<std::string>();
  if (name.starts_with("OneBit")) reading.put("/compression/scheme", "onebit");
  if (name.find("Adam") != std::string::npos)
    reading.put("/training/optimizer", "adam");
  else if (name.find("Lamb") != std::string::npos)
    reading.put("/training/optimizer", "lamb");
  else if (name == "SGD")
    reading.put("/training/optimizer", "sgd");
  else
    reading.unknown.push_back("what DeepSpeed's optimizer " + name + " costs; adam stands in");
}
}  // namespace

void apply_deepspeed(const Json& config, std::int64_t world, Reading& reading) {
  apply_batch(config, world, reading);
  apply_zero(config, reading);
  apply_precision(config, reading);
  apply_optimizer(config, reading);
  reading.put("/training/gradient_clip",
              number(config, "/gradient_clipping", reading).value_or(0) > 0);
  if (config.contains("activation_checkpointing")) {
    reading.put("/training/recompute", "full");
    reading.assumed.emplace_back(
        "training.recompute = full: activation_checkpointing is configured, and the program is "
        "taken to use it");
  }
  reading.read.emplace_back("batch, ZeRO, precision and optimizer from DeepSpeed's configuration");
}
}  // namespace stepcast::k8s
