#pragma once
#include <string>
#include <vector>

#include "runtime/converge/network.hpp"

namespace stepcast::runtime {

/// A small learning problem: data, the network that learns it, and what counts as learnt.
struct LearningTask {
  std::string name;
  Network network;
  Samples train, held_out;
  std::vector<std::vector<std::int32_t>>
      domains;            // rows of `train` by class or part of the text; skewed workers prefer one
  double start_loss = 0;  // nats per sample of a guess without knowledge
  double floor_loss = 0;  // teacher: the teacher's own; text: 0, unknown
  double target_loss = 0;  // held-out loss at which it counts as learnt
};

/// Labels drawn from a seeded random network of 32 inputs. Target: 60 % of what can be learned.
LearningTask teacher_task(BatchNorm batch_norm);
/// The next character from the 8 before it. Target: 90 % of the entropy of single characters.
/// `corpus` "" is kDefaultCorpus; a file that is missing or under 4096 characters: InputError.
LearningTask text_task(const std::string& corpus, BatchNorm batch_norm);
inline constexpr const char* kDefaultCorpus =
    "/usr/share/common-licenses/GPL-3";  // Debian package base-files

LearningTask new_task(const ConvergenceSpec& spec);

/// Samples of a step for each of `workers`: rows drawn with replacement, keyed by (seed, step,
/// worker), so that a worker sees the same samples whatever the others do. With probability `skew`
/// from domain worker % domains.
Samples drawn_samples(const LearningTask& task, std::uint64_t seed, std::int64_t step,
                      int first_worker, int workers, int per_worker, double skew);
}  // namespace stepcast::runtime
