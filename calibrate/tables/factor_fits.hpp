#pragma once
#include <string>
#include <vector>

#include "calibrate/tables/table_set.hpp"
#include "sim/cost/cost_model.hpp"

/// Factors between what micro-benchmarks show and what training sees. Each compares a second table
/// against the burst model that was fitted before (`burst`: a CostModel with is_burst = true and no
/// factors yet).
namespace stepcast {

/// Median over half-decades of flops of (time inside a running model / burst prediction), from
/// gemm_llm_layers.csv.gz. Only GEMMs of 1e10 flops and more: below, the 1 us resolution of the
/// table and launch cost, which is modelled by itself, blur it. The curve never goes under 1: no
/// loop is faster than a burst, and the libraries of the two tables differ.
FactorCurve fit_sustained_from_model(const CsvTable& table, const CostModel& burst,
                                     const std::string& source);
/// The same from the TN rows of gemm_training_layouts.csv, long back-to-back loops.
FactorCurve fit_sustained_from_loop(const CsvTable& table, const CostModel& burst,
                                    const std::string& source);
/// The same from settled runs (10,000 warm-ups, own board) of one GPU and type; one point per
/// shape. These may go under 1: their library is the one that trainers call, which the tables of
/// other libraries are not.
FactorCurve fit_sustained_settled(const CsvTable& table, const std::string& gpu,
                                  const std::string& dtype, Precision precision,
                                  const CostModel& burst, const std::string& name,
                                  const std::string& source);
/// Time of a layout ("NN", "NT") over that of TN at equal flops and shape quality: medians of
/// (measured / burst prediction).
FactorCurve fit_layout_factor(const CsvTable& table, const CostModel& burst,
                              const std::string& layout, const std::string& name,
                              const std::string& source);
/// Time of grouped GEMMs over the prediction for the stacked plain one, against rows per group, by
/// stage of the table.
FactorCurve fit_grouped_factor(const CsvTable& table, const CostModel& burst,
                               const FactorCurve& sustained, const std::string& stage,
                               const std::string& name, const std::string& source);
/// Time of batched GEMMs over the prediction for the stacked plain one, over that of the batch-1
/// rows of the same table.
FactorCurve fit_batched_factor(const CsvTable& table, const CostModel& burst,
                               const std::string& source);
/// Backward over forward time of rows that differ in the pass only, medians by key length. An empty
/// curve where none exist.
FactorCurve fit_attention_backward(const CsvTable& table, const std::string& mask,
                                   const std::string& source);
/// Median of (measured / burst prediction) over forward rows with at least `min_heads` batch x
/// heads.
double fit_attention_sustained(const CsvTable& table, const CostModel& burst, double min_heads);
}  // namespace stepcast
