#pragma once
#include <string>
#include <vector>

#include "runtime/converge/study.hpp"
#include "sim/cli/converge_plan.hpp"
#include "sim/io/json_fwd.hpp"

namespace stepcast {
/// One setting of a convergence study with what came out, and the index of its plain counterpart
/// among the results.
struct ConvergePoint {
  std::string name;  // the varied values, "" where nothing is varied
  ConvergePlan plan;
  std::size_t result = 0, plain = 0;
};
Json converge_json(const std::string& file, const runtime::LearningTask& task,
                   const std::vector<ConvergePoint>& points,
                   const std::vector<runtime::StudyResult>& results);
std::string converge_text(const Json& report);
/// "point,seed,step,held_out_loss" per look.
std::string curves_csv(const std::vector<ConvergePoint>& points,
                       const std::vector<runtime::StudyResult>& results);
/// Median held-out loss over seeds against steps, a line per point and the target dashed.
void write_curves_chart(const std::string& path, const std::string& title,
                        const runtime::LearningTask& task, const std::vector<ConvergePoint>& points,
                        const std::vector<runtime::StudyResult>& results);
}  // namespace stepcast
