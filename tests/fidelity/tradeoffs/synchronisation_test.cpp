// Synchronisation through the whole road: scenario, lowering, events, report.
#include <fmt/format.h>

#include <algorithm>

#include "tests/fidelity/jobs/base_job.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::test;
namespace {
Settings sync(const std::string& value) {
  return {"/sync=" + value, "/strategy/host=none", "/cluster/nics=1", "/cluster/nic_Gbps=200"};
}
double rate(const Settings& s) { return forecast(s).sync->samples_per_s; }

}  // namespace

TEST_CASE(
    "asynchronous training outruns lockstep behind a straggler and bounded staleness lies between",
    "[tradeoffs]") {
  // Servers that only sum, quickly, on wide ports: the straggler is what is waited for.
  const auto with = [](const char* mode) {
    return rate(
        sync(fmt::format(
            R"({{{}, "servers": {{"count": 2, "updates": false, "summation_GBps": 5000}}}})",
            mode)) +
        Settings{"/cluster/nics=8", "/cluster/nic_Gbps=800", "/cluster/host_to_device_GBps=100",
                 R"(/stragglers=[{"ranks": "3", "compute_slowdown": 4}])"});
  };
  const double bsp = with(R"("mode": "bsp")"), ssp = with(R"("mode": "ssp", "staleness": 4)"),
               async = with(R"("mode": "async")");
  CHECK(ssp >= bsp * 0.999);
  CHECK(async > ssp);
}

TEST_CASE("averaging and gossip do not wait for a straggler more often than their exchange",
          "[tradeoffs]") {
  const Settings jitter{
      R"(/stragglers=[{"jitter": {"distribution": "lognormal", "sigma": 0.3, "each": "step"}}])",
      "/run/steps=64"};
  const double each = rate(sync(R"({"mode": "local-sgd", "period": 1})") + jitter),
               rare = rate(sync(R"({"mode": "local-sgd", "period": 8})") + jitter);
  CHECK(rare > 1.1 * each);
  const Settings slow{R"(/stragglers=[{"ranks": "3", "compute_slowdown": 8}])", "/run/steps=64",
                      "/cluster/nics=8", "/cluster/nic_Gbps=800"};
  CHECK(rate(sync(R"({"mode": "gossip", "peers": "random"})") + slow) >
        rate(sync(R"({"mode": "gossip", "peers": "ring"})") + slow));
}

TEST_CASE("hierarchical averaging crosses nodes once a period", "[tradeoffs]") {
  const Forecast each = forecast(sync(R"({"mode": "hierarchical", "period": 1})")),
                 rare = forecast(sync(R"({"mode": "hierarchical", "period": 8})"));
  CHECK(each.sync->per_worker.size() == 2);
  CHECK(rare.sync->samples_per_s > each.sync->samples_per_s);
}

TEST_CASE("backup workers buy back what a straggler costs less their own share", "[tradeoffs]") {
  const Settings slow{R"(/stragglers=[{"ranks": "3", "compute_slowdown": 3}])"};
  const double all = rate(sync(R"({"mode": "bsp", "servers": {"count": 2}})") + slow),
               but_one = rate(sync(R"({"mode": "bsp", "backup_workers": 1})") + slow);
  CHECK(but_one > 1.5 * all);
}

TEST_CASE("more servers and faster ones and sparse embeddings relieve the servers", "[tradeoffs]") {
  const auto with = [](const char* servers) {
    return rate(sync(std::string(R"({"mode": "async", "servers": )") + servers + "}") +
                Settings{"/model/tied_embedding=false", "/model/vocab=131072"});
  };
  CHECK(with(R"({"count": 2, "placement": "dedicated", "nic_Gbps": 50})") >
        with(R"({"count": 1, "placement": "dedicated", "nic_Gbps": 50})"));
  CHECK(with(R"({"count": 2, "summation_GBps": 50})") >
        with(R"({"count": 2, "summation_GBps": 1})"));
  CHECK(with(R"({"count": 2, "sparse_embeddings": true})") > with(R"({"count": 2})"));
}

TEST_CASE("compression relieves ports and leaves the servers their sums", "[tradeoffs]") {
  const auto with = [](const char* servers, const char* scheme) {
    return forecast(sync(std::string(R"({"mode": "async", "servers": )") + servers + "}") +
                    Settings{fmt::format(R"(/compression={{"scheme": "{}"}})", scheme)});
  };
  const auto is_server_bound = [](const Forecast& f, const char* text) {
    return std::any_of(f.warnings.begin(), f.warnings.end(), [&](const std::string& w) {
      return w.find("server-bound") == 0 && w.find(text) != std::string::npos;
    });
  };
  const char* slow_sums = R"({"count": 2, "summation_GBps": 5})";
  const Forecast plain = with(slow_sums, "none"), onebit = with(slow_sums, "onebit"),
                 topk = with(slow_sums, "topk");
  CHECK(onebit.sync->samples_per_s == Approx(plain.sync->samples_per_s).epsilon(0.02));
  CHECK(is_server_bound(plain, "updates on the workers help"));
  CHECK(is_server_bound(onebit, "onebit does not"));
  // One entry in a hundred, each a line of 64 bytes for 4 x 100: 0.16 of the dense sums, so up
  // to 6.25 times the rate.
  CHECK(topk.sync->samples_per_s > 4 * plain.sync->samples_per_s);
  CHECK(topk.sync->samples_per_s < 6.5 * plain.sync->samples_per_s);
  // Narrow ports and fast sums: bits count. Pulled parameters stay whole, so no more than half of
  // the bytes can go.
  const char* narrow =
      R"({"count": 2, "placement": "dedicated", "nic_Gbps": 10, "summation_GBps": 5000})";
  const double gain =
      with(narrow, "onebit").sync->samples_per_s / with(narrow, "none").sync->samples_per_s;
  CHECK(gain > 1);
  CHECK(gain < 2);
}

TEST_CASE("the forecast of replicas out of lockstep sums its step and both engines agree",
          "[tradeoffs]") {
  const Settings ssp = sync(R"({"mode": "ssp", "staleness": 2, "servers": {"count": 2}})") +
                       Settings{R"(/stragglers=[{"ranks": "3", "compute_slowdown": 2}])"};
  const Forecast a = forecast(ssp, EngineKind::native), b = forecast(ssp, EngineKind::simgrid);
  CHECK(a.sync->samples_per_s == Approx(b.sync->samples_per_s).epsilon(1e-9));
  CHECK(a.sync->updates.size() == b.sync->updates.size());
  double sum = 0;
  for (const double s : a.outcome.breakdown) sum += s;
  CHECK(sum == Approx(a.outcome.step_s).epsilon(1e-9));
}

TEST_CASE("combinations that make no sense are refused with a reason", "[tradeoffs]") {
  const auto refusal = [](const Settings& s) {
    const Result<Scenario> r = try_job(s);
    REQUIRE_FALSE(r);
    return r.problems().text();
  };
  CHECK(refusal({R"(/sync={"mode": "async"})"}).find("keeps its parameters on servers") !=
        std::string::npos);
  CHECK(refusal({R"(/sync={"mode": "asink", "servers": {}})"}).find("did you mean \"async\"?") !=
        std::string::npos);
  CHECK(refusal({R"(/sync={"mode": "local-sgd", "staleness": 2})"})
            .find("has no effect in mode local-sgd") != std::string::npos);
  CHECK(refusal({R"(/sync={"mode": "bsp", "backup_workers": 16})"}).find("leave none") !=
        std::string::npos);
  CHECK(refusal({R"(/sync={"mode": "local-sgd"})", "/parallel/pp=2", "/training/global_batch=64"})
            .find("pipeline stages is not supported") != std::string::npos);
  CHECK(refusal({R"(/stragglers=[{"ranks": "1", "link": {"bandwidth_factor": 0.5}}])"})
            .find("belongs to nodes") != std::string::npos);
  CHECK(refusal({R"(/stragglers=[{"burst": {"every_s": 1, "duration_s": 1, "slowdwn": 2}}])"})
            .find("slowdown") != std::string::npos);
  CHECK(refusal({R"(/compression={"scheme": "fp16", "warmup_steps": 3})"}).find("dgc uses it") !=
        std::string::npos);
}
