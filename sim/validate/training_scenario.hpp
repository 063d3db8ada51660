#pragma once
#include <optional>
#include <string>
#include <variant>

#include "sim/io/json_fwd.hpp"
#include "sim/validate/assumptions.hpp"
#include "sim/validate/question.hpp"

/// A row in the columns of training_runs.csv becomes a scenario that `stepcast simulate` would
/// accept.
namespace stepcast {
using StepOrReason =
    std::variant<StepQuestion, std::string>;  // the question, or why the row cannot be one
StepOrReason step_question(const AssumedRow& assumed, const AssumptionSet& set);

using SecondsOrReason = std::variant<double, std::string>;
/// The measured step of a row, from the first filled column of the set's list:
///   step_time_s            as printed
///   tokens_per_s           gbs * seq / rate
///   tokens_per_s_per_accel gbs * seq / (rate * n_accel)
///   samples_per_s          gbs / rate
///   hardware_tflops        96 B s l h^2 (1 + s/6h + V/16lh) / (n * rate): Narayanan et al. SC21
///   eq. 3, recompute counted model_tflops           72 B s l h^2 (1 + s/6h + V/12lh) / (n * rate):
///   the same without the recompute pass mfu_pct                model flops as above / (n * dense
///   16-bit peak * share); needs peak_tflops (a rule fills it)
SecondsOrReason measured_step(const TableRow& row, const std::vector<std::string>& columns);

/// Asks for the step of a row whose cells are filled, or notes why it cannot be asked.
void add_step(const std::string& table, const std::string& id, const AssumedRow& assumed,
              const AssumptionSet& set, Questions& questions);

/// NICs of a node and Gb/s of each, read from an interconnect cell: "8x200 Gb/s HDR IB", "400 Gb/s
/// per GPU".
struct NicText {
  std::int64_t nics = 0;
  double gigabits = 0;
};
std::optional<NicText> nics_of_text(const std::string& text, std::int64_t gpus_per_node);
/// Transport named by an interconnect cell; "" when it names none.
std::string transport_of_text(const std::string& text);
/// Sizes a scenario's "cluster" for a job, and gives it the NICs and transport that the
/// interconnect cell names unless a rule already did.
void put_nodes(Json& cluster, std::int64_t nodes, std::int64_t gpus_per_node,
               const std::string& interconnect);
}  // namespace stepcast
