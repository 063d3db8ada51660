#include "runtime/converge/learning_task.hpp"

#include "sim/core/random.hpp"

namespace stepcast::runtime {
LearningTask new_task(const ConvergenceSpec& spec) {
  return spec.task == LearningTaskKind::teacher ? teacher_task(spec.batch_norm)
                                                : text_task(spec.corpus, spec.batch_norm);
}

Samples drawn_samples(const LearningTask& task, std::uint64_t seed, std::int64_t step,
                      int first_worker, int workers, int per_worker, double skew) {
  Samples out;
  const std::int64_t rows = static_cast<std::int64_t>(workers) * per_worker;
  const int context = task.network.shape().context;
  if (context == 0) out.features.resize(rows, task.train.features.cols());
  out.labels.reserve(static_cast<std::size_t>(rows));
  std::int64_t row = 0;
  for (int worker = first_worker; worker < first_worker + workers; ++worker) {
    const std::uint64_t key = mixed_bits(mixed_bits(seed, static_cast<std::uint64_t>(step)),
                                         static_cast<std::uint64_t>(worker));
    const auto& domain = task.domains[static_cast<std::size_t>(worker) % task.domains.size()];
    for (int sample = 0; sample < per_worker; ++sample, ++row) {
      const std::uint64_t bits = mixed_bits(key, static_cast<std::uint64_t>(sample));
      const bool is_own = uniform_from_bits(mixed_bits(bits ^ 0x51e3ULL)) < skew;
      const std::uint64_t choice =
          bits % (is_own ? domain.size() : static_cast<std::uint64_t>(task.train.size()));
      const std::size_t source =
          is_own ? static_cast<std::size_t>(domain[choice]) : static_cast<std::size_t>(choice);
      if (context == 0)
        out.features.row(row) = task.train.features.row(static_cast<Eigen::Index>(source));
      else
        for (int place = 0; place < context; ++place)
          out.tokens.push_back(task.train.tokens[source * static_cast<std::size_t>(context) +
                                                 static_cast<std::size_t>(place)]);
      out.labels.push_back(task.train.labels[source]);
    }
  }
  return out;
}
}  // namespace stepcast::runtime
