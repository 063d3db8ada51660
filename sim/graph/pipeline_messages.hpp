#pragma once
#include <vector>

#include "sim/graph/program_writer.hpp"
#include "sim/graph/stage_context.hpp"

namespace stepcast {
/// Activations and their gradients between neighbouring pipeline positions. Position chunk * pp +
/// stage passes its output to position + 1; with virtual stages the last stage therefore sends to
/// the first one.
class PipelineMessages {
 public:
  PipelineMessages(const StageContext& context, ProgramWriter& writer)
      : context_(context), writer_(writer) {}
  /// Issues the receive that `work` needs; empty when it needs none.
  std::vector<int> receive_for(const Work& work);
  /// Issues the message that `work` produces, after op `done`.
  void send_from(const Work& work, int done);

 private:
  int parts() const;
  int position_of(const Work& work) const {
    return work.chunk * context_.layout().pp + context_.stage();
  }
  int last_position() const { return context_.layout().pp * context_.chunks() - 1; }
  void message(GraphOp::Kind kind, int edge, bool is_backward, const Work& work,
               std::vector<int> after);
  const StageContext& context_;
  ProgramWriter& writer_;
};
}  // namespace stepcast
