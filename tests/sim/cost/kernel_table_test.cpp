#include "sim/cost/kernel_table.hpp"
#include "tests/support/test.hpp"

using namespace stepcast;

TEST_CASE("a GEMM table row becomes an op with its dtype and shape", "[cost]") {
  const CsvTable table = *CsvTable::parse("dtype,m,n,k,time_us\nfp8,64,128,256,2.5\n", "t.csv");
  REQUIRE(kernel_table_kind(table) == KernelTableKind::gemm);
  const auto row = kernel_row(table, KernelTableKind::gemm, 0);
  REQUIRE(row);
  REQUIRE(row->op.precision == Precision::fp8);
  REQUIRE(std::get<GemmShape>(row->op.shape).n == 128);
  REQUIRE(row->measured.value == Approx(2.5e-6));
  REQUIRE(row->id == "fp8 m64 n128 k256");
}

TEST_CASE("an attention table row is causal unless its table has a dtype column", "[cost]") {
  const CsvTable causal = *CsvTable::parse(
      "batch,sequence_length,heads,kv_heads,head_dim,causal_forward_time_us,kernel\n2,512,16,4,128,"
      "33,fa\n",
      "t.csv");
  REQUIRE(kernel_table_kind(causal) == KernelTableKind::attention_forward);
  const auto row = kernel_row(causal, KernelTableKind::attention_forward, 0);
  REQUIRE(row);
  REQUIRE(std::get<AttentionShape>(row->op.shape).causal);
  REQUIRE(std::get<AttentionShape>(row->op.shape).kv_heads == 4);
  const CsvTable full = *CsvTable::parse(
      "batch,sequence_length,heads,head_dim,dtype,time_us\n2,512,16,64,bfloat16,33\n", "t.csv");
  REQUIRE(kernel_table_kind(full) == KernelTableKind::attention_full_mask);
  REQUIRE_FALSE(
      std::get<AttentionShape>(kernel_row(full, KernelTableKind::attention_full_mask, 0)->op.shape)
          .causal);
}

TEST_CASE("a row with several faults names each with its line", "[cost]") {
  const CsvTable table = *CsvTable::parse("dtype,m,n,k,time_us\nfp9,0,128,256,-1\n", "t.csv");
  const auto row = kernel_row(table, KernelTableKind::gemm, 0);
  REQUIRE_FALSE(row);
  REQUIRE(row.problems().size() == 3);
  REQUIRE_THAT(row.problems().text(),
               Catch::Contains("line 2") && Catch::Contains("fp9") && Catch::Contains("time_us"));
}

TEST_CASE("a table with other columns fits no kind", "[cost]") {
  REQUIRE(kernel_table_kind(*CsvTable::parse("a,b\n1,2\n", "t.csv")) == KernelTableKind::none);
}
