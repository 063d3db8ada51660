#include "tests/sim/workload/workload_fixtures.hpp"

using namespace stepcast;
using namespace stepcast::test;

TEST_CASE("convolutional presets have the published parameters and flops", "[cnn]") {
  struct Row {
    const char* name;
    double millions, giga_multiply_adds;
  };
  // torchvision's model table: parameters, and multiply-adds of one image (which it calls FLOPS).
  const Row row = GENERATE(values<Row>({{"resnet-18", 11.690, 1.814},
                                        {"resnet-34", 21.798, 3.664},
                                        {"resnet-50", 25.557, 4.089},
                                        {"resnet-101", 44.549, 7.801},
                                        {"resnet-152", 60.193, 11.514},
                                        {"vgg-16", 138.358, 15.47},
                                        {"efficientnet-b0", 5.289, 0.386},
                                        {"efficientnet-b4", 19.342, 4.394},
                                        {"inception-v3", 23.83, 5.713},
                                        {"resnet-18-cifar", 11.174, 0.556}}));
  INFO(row.name);
  const ModelSpec model = preset(row.name);
  REQUIRE(static_cast<double>(parameter_count(model)) / 1e6 == Approx(row.millions).epsilon(0.001));
  const ModelWork work =
      model_work(model, training(R"({"global_batch": 32, "micro_batch": 32})"), layout("{}"));
  REQUIRE(work.model_flops_per_sample.value / 6e9 == Approx(row.giga_multiply_adds).epsilon(0.025));
}

TEST_CASE(
    "a convolution's backward has two products except for the first which has no input gradient",
    "[cnn]") {
  const ModelWork work = model_work(
      preset("resnet-50"), training(R"({"global_batch": 32, "micro_batch": 32})"), layout("{}"));
  double forward = 0, backward = 0, parameters = 0;
  for (const LayerWork& layer : work.kinds) {
    forward += flops(layer.forward);
    backward += flops(layer.backward);
    parameters += static_cast<double>(layer.dense_parameters);
  }
  const double first = flops(work.kinds.front().forward);
  REQUIRE(first == Approx(2.0 * 32 * 112 * 112 * 64 * 3 * 49));
  REQUIRE(backward == Approx(2 * forward - first));
  REQUIRE(parameters == static_cast<double>(parameter_count(preset("resnet-50"))));
}

TEST_CASE("fused batch norm moves less than eager", "[cnn]") {
  const auto bytes = [](const char* fusion) {
    const std::string t =
        std::string(R"({"global_batch": 32, "micro_batch": 32, "fusion": ")") + fusion + "\"}";
    std::int64_t sum = 0;
    for (const LayerWork& layer :
         model_work(preset("resnet-50"), training(t.c_str()), layout("{}")).kinds)
      for (const Op& op : layer.forward)
        if (const auto* stream = std::get_if<StreamShape>(&op.shape))
          sum += stream->read.value + stream->written.value;
    return sum;
  };
  REQUIRE(bytes("fused") < bytes("eager"));
}

TEST_CASE("a convolutional network is not split by tensor parallelism", "[cnn]") {
  REQUIRE(
      faults(preset("resnet-50"), training(R"({"global_batch": 32})"), layout(R"({"tp": 2})")) ==
      "s.json /parallel/tp: 2: a cnn has nothing that tp splits; try 1");
}
