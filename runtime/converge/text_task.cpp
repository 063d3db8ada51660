#include <fmt/format.h>

#include <array>
#include <cmath>

#include "runtime/converge/learning_task.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/io/files.hpp"

namespace stepcast::runtime {
namespace {
constexpr int kContext = 8, kEmbedding = 12, kHidden = 96;
constexpr std::size_t kLeastCharacters = 4096;
constexpr double kHeldOutShare = 0.1;
constexpr std::size_t kMostHeldOut = 2048;  // rows whose loss is taken at every look
constexpr int kParts = 16;  // consecutive parts of the text that skewed workers prefer
constexpr double kShareOfEntropy = 0.9;

void append(Samples& samples, const std::vector<int>& text, std::size_t at) {
  for (std::size_t place = at - kContext; place < at; ++place)
    samples.tokens.push_back(text[place]);
  samples.labels.push_back(text[at]);
}
}  // namespace

LearningTask text_task(const std::string& corpus, BatchNorm batch_norm) {
  const std::string path = corpus.empty() ? kDefaultCorpus : corpus;
  const std::string bytes = read_file(path).value_or_throw();
  if (bytes.size() < kLeastCharacters)
    throw InputError(Problem{path, "", fmt::format("holds {} characters", bytes.size()),
                             fmt::format("at least {}", kLeastCharacters)});
  std::array<int, 256> number_of{};
  number_of.fill(-1);
  int vocabulary = 0;
  std::vector<int> text;
  std::vector<double> count;
  for (const char c : bytes) {
    int& number = number_of[static_cast<unsigned char>(c)];
    if (number < 0) {
      number = vocabulary++;
      count.push_back(0);
    }
    count[static_cast<std::size_t>(number)] += 1;
    text.push_back(number);
  }
  double entropy = 0;
  for (const double n : count)
    entropy -=
        n / static_cast<double>(text.size()) * std::log(n / static_cast<double>(text.size()));

  LearningTask task{.name = "text",
                    .network = Network({.context = kContext,
                                        .vocabulary = vocabulary,
                                        .embedding = kEmbedding,
                                        .hidden = kHidden,
                                        .classes = vocabulary,
                                        .batch_norm = batch_norm}),
                    .train = {},
                    .held_out = {},
                    .domains = std::vector<std::vector<std::int32_t>>(kParts)};
  const auto split =
      static_cast<std::size_t>((1 - kHeldOutShare) * static_cast<double>(text.size()));
  for (std::size_t at = kContext; at < split; ++at) {
    task.domains[at * kParts / split].push_back(
        static_cast<std::int32_t>(task.train.labels.size()));
    append(task.train, text, at);
  }
  const std::size_t stride =
      std::max<std::size_t>(1, (text.size() - split - kContext) / kMostHeldOut);
  for (std::size_t at = split + kContext; at < text.size(); at += stride)
    append(task.held_out, text, at);
  task.start_loss = std::log(static_cast<double>(vocabulary));
  task.target_loss = kShareOfEntropy * entropy;
  return task;
}
}  // namespace stepcast::runtime
