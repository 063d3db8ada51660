#include "gui/views/view_history.hpp"

#include "sim/core/assert.hpp"

namespace stepcast::gui {
void ViewHistory::record(const ViewState& state, bool merges) {
  if (states_.empty()) {
    states_.push_back(state);
    at_ = 0;
    last_merges_ = false;
    return;
  }
  if (states_[at_] == state) return;
  states_.resize(at_ + 1);
  if (merges && last_merges_ && at_ > 0) {
    states_[at_] = state;
    return;
  }
  states_.push_back(state);
  last_merges_ = merges;
  if (states_.size() > kLongest) states_.erase(states_.begin());
  at_ = states_.size() - 1;
}
const ViewState& ViewHistory::undo() {
  STEPCAST_ASSERT(can_undo(), "the action is disabled at the oldest state");
  last_merges_ = false;
  return states_[--at_];
}
const ViewState& ViewHistory::redo() {
  STEPCAST_ASSERT(can_redo(), "the action is disabled at the newest state");
  last_merges_ = false;
  return states_[++at_];
}
void ViewHistory::clear() {
  states_.clear();
  at_ = 0;
  last_merges_ = false;
}
}  // namespace stepcast::gui
