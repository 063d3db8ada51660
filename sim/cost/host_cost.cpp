#include "sim/cost/kernel_cost.hpp"

namespace stepcast {

int launches_of(const CostOptions& options, const Op& op) {
  const bool is_eager = options.fusion == Fusion::eager || options.host == HostMode::eager;
  return is_eager ? op.eager_launches : op.fused_launches;
}

Seconds host_issue_time(const CostContext& context, const Op& op) {
  if (context.options.host == HostMode::none) return Seconds(0);
  const auto found = context.kernels.host.find(context.options.framework);
  if (found == context.kernels.host.end())
    return Seconds(0);  // the constructor refuses unknown names
  const HostFit& fit = found->second;
  const double us = context.options.host == HostMode::eager   ? fit.eager_us
                    : context.options.host == HostMode::graph ? fit.graph_us
                                                              : fit.fused_us;
  const bool is_backward = op.pass == Pass::backward_data || op.pass == Pass::backward_weight;
  const double scale = is_backward ? fit.backward_scale : 1.0;
  return Seconds(launches_of(context.options, op) * us * 1e-6 * scale * context.options.host_scale);
}
}  // namespace stepcast
