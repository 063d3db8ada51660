#include "calibrate/tables/factor_fits.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

namespace {
/// GEMM at exactly the roofline of 100 TFLOP/s: predictions are solved by hand.
Profile at_the_roofline() {
  Profile p;
  p.gpu.peak_flops[static_cast<std::size_t>(Precision::bf16)] = 100e12;
  p.gpu.memory_bandwidth = BytesPerSecond(1e14);
  KernelFamily gemm;
  gemm.name = "gemm/bf16";
  gemm.feature_names = {"m", "n", "k"};
  gemm.grid = UtilisationGrid{{{1, 65536}, {1, 65536}, {1, 65536}}, std::vector<float>(8, 1.0F)};
  p.kernels.families = {gemm};
  return p;
}
CostModel burst(const Profile& p) {
  CostOptions options;
  options.is_burst = true;
  options.host = HostMode::none;
  return CostModel(p, p.gpu, options);
}
}  // namespace

TEST_CASE("the sustained factor is the median of in-model over burst time", "[calibrate]") {
  // 2 * 4096^3 / 1e14 = 1374.4 us; five rows at 1.2 times that and one outlier at 3 times
  std::string csv = "m,n,k,time_us_median\n";
  for (int i = 0; i < 5; ++i) csv += "4096,4096,4096,1649.27\n";
  csv += "4096,4096,4096,4123\n";
  const Profile p = at_the_roofline();
  const FactorCurve curve =
      fit_sustained_from_model(*CsvTable::parse(csv, "t.csv"), burst(p), "test");
  REQUIRE(curve.points.size() == 1);
  REQUIRE(curve.points[0].second == Approx(1.2).epsilon(1e-3));
}

TEST_CASE("GEMMs too short for the table's resolution do not enter the sustained factor",
          "[calibrate]") {
  std::string csv = "m,n,k,time_us_median\n";
  for (int i = 0; i < 9; ++i) csv += "64,64,64,100\n";
  const Profile p = at_the_roofline();
  REQUIRE(
      fit_sustained_from_model(*CsvTable::parse(csv, "t.csv"), burst(p), "test").points.empty());
}

TEST_CASE("a layout factor compares with the forward layout of the same table", "[calibrate]") {
  const std::string csv =
      "batch,m,n,k,layout,time_us\n1,4096,4096,4096,TN,1500\n1,4096,4096,4096,NT,1650\n1,4096,4096,"
      "4096,NN,1500\n";
  const Profile p = at_the_roofline();
  const CsvTable table = *CsvTable::parse(csv, "t.csv");
  REQUIRE(fit_layout_factor(table, burst(p), "NT", "gemm_backward_weight", "test").at(1e12) ==
          Approx(1.1));
  REQUIRE(fit_layout_factor(table, burst(p), "NN", "gemm_backward_data", "test").at(1e12) ==
          Approx(1.0));
}

TEST_CASE("attention backward is compared with the forward row of equal shape and library",
          "[calibrate]") {
  const std::string csv =
      "library,dtype,mask,batch,query_length,key_length,heads,kv_heads,head_dim_qk,head_dim_v,"
      "sliding_window,pass,deterministic,time_us\n"
      "cudnn,bfloat16,causal,1,4096,4096,32,8,128,128,,fwd,no,100\n"
      "cudnn,bfloat16,causal,1,4096,4096,32,8,128,128,,bwd,no,310\n"
      "cudnn,bfloat16,causal,1,4096,4096,32,8,128,128,,bwd,yes,400\n"
      "cudnn,bfloat16,causal,1,4096,4096,2,2,128,128,,fwd,no,50\n"
      "cudnn,bfloat16,causal,1,4096,4096,2,2,128,128,,bwd,no,60\n";
  const FactorCurve curve =
      fit_attention_backward(*CsvTable::parse(csv, "t.csv"), "causal", "test");
  // the deterministic row and the one with two heads, which leaves the device idle, stay out
  REQUIRE(curve.points.size() == 1);
  REQUIRE(curve.points[0].first == Approx(4096));
  REQUIRE(curve.points[0].second == Approx(3.1));
}
