#include "sim/straggler/disturbance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/random.hpp"

namespace stepcast {
namespace {
// Streams of random bits for different purposes of one (rank, cause).
enum Stream : std::uint64_t { kJitter = 0x4a17, kBurst = 0xb057, kPhase = 0x9a5e, kLink = 0x11ac };
std::uint64_t key_of(std::uint64_t seed, std::uint64_t rank, std::uint64_t cause, Stream stream) {
  return mixed_bits(mixed_bits(mixed_bits(seed, rank), cause), stream);
}
double lognormal_mean_one(double sigma, std::uint64_t key) {
  return std::exp(sigma * normal_from_bits(key) - 0.5 * sigma * sigma);
}

/// Phase of a periodic cause as a share of its period: a rank's own, or one for all.
double phase_of(const PeriodicSpec& p, std::uint64_t seed, std::uint64_t rank,
                std::uint64_t cause) {
  return uniform_from_bits(
      mixed_bits(key_of(seed, p.together ? ~std::uint64_t{0} : rank, cause, kPhase)));
}

struct Spell {
  double from, to, slowdown;
};  // slowdown infinite: stands still

void add_spells(const StragglerSpec& c, std::uint64_t seed, std::uint64_t rank, std::uint64_t cause,
                double from, double to, std::vector<Spell>& spells) {
  if (c.burst.every_s > 0)
    for (const auto& [start, end] :
         bursts_between(c.burst, key_of(seed, rank, cause, kBurst), from, to))
      spells.push_back({start, end, c.burst.slowdown});
  if (const PeriodicSpec& p = c.periodic; p.period_s > 0) {
    const double length = p.pause_s > 0 ? p.pause_s : p.duration_s;
    const double phase = phase_of(p, seed, rank, cause) * p.period_s;
    for (double at = phase + p.period_s * std::floor((from - length - phase) / p.period_s); at < to;
         at += p.period_s)
      if (at >= 0 && at + length > from)
        spells.push_back({at, at + length,
                          p.pause_s > 0 ? std::numeric_limits<double>::infinity() : p.slowdown});
  }
}

/// Seconds that `work` takes from `start` on under the spells of `add`, which is asked again as the
/// horizon moves.
double elapsed_under(double start, double work, const auto& add) {
  double horizon = start + 2 * work + 1e-9, done = 0, now = start;
  std::vector<Spell> spells;
  add(start, horizon, spells);
  for (int guard = 0; guard < 1'000'000; ++guard) {
    double slowdown = 1, next = horizon;
    for (const Spell& s : spells) {
      if (s.from <= now && now < s.to) slowdown *= s.slowdown;
      if (s.from > now) next = std::min(next, s.from);
      if (s.to > now) next = std::min(next, s.to);
    }
    const double speed = std::isinf(slowdown) ? 0 : 1 / slowdown;
    if (speed > 0 && (work - done) <= (next - now) * speed * (1 + 1e-15))
      return now + (work - done) / speed - start;
    done += speed * (next - now);
    now = next;
    if (now >= horizon) {
      const double more = horizon + 2 * work + 1e-9;
      spells.clear();
      add(now, more, spells);
      horizon = more;
    }
  }
  return now - start;  // a million changes within one pass: the rank as good as stands still
}
}  // namespace

double jitter_factor(const JitterSpec& j, std::uint64_t key) {
  switch (j.kind) {
    case JitterKind::lognormal:
      return j.sigma > 0 ? lognormal_mean_one(j.sigma, key) : 1;
    case JitterKind::exponential:
      return 1 - j.scale * std::log(uniform_from_bits(mixed_bits(key)));
    case JitterKind::pareto: {
      if (j.shape <= 0 || uniform_from_bits(mixed_bits(key ^ 0x77)) >= j.probability) return 1;
      return std::pow(uniform_from_bits(mixed_bits(key)), -1 / j.shape);
    }
  }
  return 1;
}

// Poisson by cells of one mean gap: a Poisson(1) number of starts, each uniform in its cell, is the
// same process, and any moment can be asked without walking there from zero.
std::vector<std::pair<double, double>> bursts_between(const BurstSpec& burst, std::uint64_t key,
                                                      double from, double to) {
  std::vector<std::pair<double, double>> found;
  const double cell = burst.every_s;
  const auto first =
      static_cast<std::int64_t>(std::floor(std::max(0.0, from - burst.duration_s) / cell));
  const auto last = static_cast<std::int64_t>(std::floor(to / cell));
  for (std::int64_t c = std::max<std::int64_t>(0, first); c <= last; ++c) {
    const std::uint64_t cell_key = mixed_bits(key, static_cast<std::uint64_t>(c));
    double left = std::exp(-1.0), sum = left;  // Poisson(1) by inversion
    const double u = uniform_from_bits(mixed_bits(cell_key));
    int count = 0;
    while (u > sum && count < 64) left /= ++count, sum += left;
    for (int i = 0; i < count; ++i) {
      const double start =
          (static_cast<double>(c) +
           uniform_from_bits(mixed_bits(cell_key, static_cast<std::uint64_t>(i + 1)))) *
          cell;
      if (start < to && start + burst.duration_s > from)
        found.emplace_back(start, start + burst.duration_s);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

double Disturbance::stretch(const Moment& m, double work_s) const {
  double worst = 0;
  for (const DisturbedRank& r : ranks) {
    const auto rank = static_cast<std::uint64_t>(r.rank);
    double factor = 1;
    bool has_spells = false;
    for (const std::uint32_t index : r.causes) {
      const StragglerSpec& c = causes[index];
      if (!c.jitter.is_none()) {
        std::uint64_t key = key_of(m.seed, rank, index, kJitter);
        if (c.jitter.each != JitterScope::run)
          key = mixed_bits(key, static_cast<std::uint64_t>(m.step) + 1);
        if (c.jitter.each == JitterScope::pass) key = mixed_bits(key, m.op);
        factor *= jitter_factor(c.jitter, key);
      }
      if (c.drift.per_hour > 0)
        factor *= std::min(c.drift.limit, 1 + c.drift.per_hour * m.time_s / 3600);
      has_spells = has_spells || c.burst.every_s > 0 || c.periodic.period_s > 0;
    }
    if (has_spells && work_s > 0) {
      const double work = work_s * factor;
      factor *= elapsed_under(m.time_s, work,
                              [&](double from, double to, std::vector<Spell>& spells) {
                                for (const std::uint32_t index : r.causes)
                                  add_spells(causes[index], m.seed, rank, index, from, to, spells);
                              }) /
                work;
    }
    worst = std::max(worst, factor);
  }
  return ranks.empty() ? 1 : worst;
}

double lasting_slowdown(const Disturbance& disturbance, std::uint64_t seed) {
  double worst = disturbance.empty() ? 1 : 0;
  for (const DisturbedRank& r : disturbance.ranks) {
    double factor = 1;
    for (const std::uint32_t index : r.causes)
      if (const JitterSpec& j = disturbance.causes[index].jitter;
          !j.is_none() && j.each == JitterScope::run)
        factor *=
            jitter_factor(j, key_of(seed, static_cast<std::uint64_t>(r.rank), index, kJitter));
    worst = std::max(worst, factor);
  }
  return worst;
}

double Disturbance::pause_s(std::uint64_t seed, int step) const {
  double worst = 0;
  for (const DisturbedRank& r : ranks) {
    double pause = 0;
    for (const std::uint32_t index : r.causes) {
      const PeriodicSpec& p = causes[index].periodic;
      if (p.period_steps == 0) continue;
      const auto phase = static_cast<int>(
          phase_of(p, seed, static_cast<std::uint64_t>(r.rank), index) * p.period_steps);
      if (step % p.period_steps == phase) pause += p.pause_s;
    }
    worst = std::max(worst, pause);
  }
  return worst;
}

double link_factor(const SlowLinkSpec& link, std::uint64_t seed, std::uint64_t node, int step) {
  const double spread =
      link.sigma > 0 ? lognormal_mean_one(link.sigma, mixed_bits(key_of(seed, node, 0, kLink),
                                                                 static_cast<std::uint64_t>(step)))
                     : 1;
  return link.bandwidth_factor * spread;
}
}  // namespace stepcast
