#pragma once
#include <cstddef>
#include <memory>
#include <simgrid/s4u.hpp>
#include <span>
#include <vector>

#include "sim/cluster/topology.hpp"

namespace stepcast {
class VirtualRouteZone;

/// SimGrid's engine with a platform of bare links and two hosts between which every flow runs. Each
/// flow brings its own route, so any topology needs no more than its links. What differs between
/// SimGrid versions is in the .cpp.
class SimGridPlatform {
 public:
  SimGridPlatform();
  ~SimGridPlatform();
  SimGridPlatform(const SimGridPlatform&) = delete;
  SimGridPlatform& operator=(const SimGridPlatform&) = delete;
  static bool was_used();

  /// `capacity` must stay where it is: SimGrid reads it at each solve.
  void add_link(const double* capacity);
  /// To be called after a capacity was changed.
  void touch(LinkId link);
  /// Starts at once. `data` is what the completion callback finds with get_data.
  simgrid::s4u::CommPtr start(std::span<const LinkId> route, std::uint64_t payload, void* data);
  void run();

 private:
  std::unique_ptr<simgrid::s4u::Engine> engine_;
  VirtualRouteZone* zone_ = nullptr;  // the engine's
  simgrid::s4u::Host *source_ = nullptr, *sink_ = nullptr;
  std::vector<simgrid::s4u::Link*> links_;
  bool is_sealed_ = false;
};
}  // namespace stepcast
