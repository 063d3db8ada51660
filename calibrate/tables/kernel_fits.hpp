#pragma once
#include <string>
#include <vector>

#include "calibrate/tables/table_set.hpp"
#include "calibrate/tables/utilisation_fit.hpp"
#include "sim/cluster/cluster_spec.hpp"

/// One function per kind of table: rows -> families of utilisation. `gpu` is the datasheet the rows
/// were measured against; its roofline divides them.
namespace stepcast {

/// Samples of one dtype of gemm.csv(.gz): features m, n, k.
std::vector<ShapeSample> gemm_samples(const CsvTable& table, const std::string& dtype,
                                      Precision precision, const GpuSpec& gpu);
KernelFamily fit_gemm(const std::string& name, const std::vector<ShapeSample>& samples,
                      const std::string& source);

/// One family per head dimension of attention_forward.csv.gz (causal) or
/// attention_full_mask_forward.csv: features key_length, batch x heads, heads / kv heads.
std::vector<ShapeSample> attention_samples(const CsvTable& table, int head_dim, const GpuSpec& gpu);
KernelFamily fit_attention(const std::string& name, const std::vector<ShapeSample>& samples,
                           const std::string& source);
std::vector<KernelFamily> fit_attention_families(const CsvTable& table, const GpuSpec& gpu,
                                                 const std::string& source);

/// gemm_fp32.csv.gz: per-call events with a host floor, so only rows above 200 us; linear and bmm
/// alike.
KernelFamily fit_fp32_gemm(const CsvTable& table, const GpuSpec& gpu, const std::string& source);
/// v100-sxm2/gemm.csv: families gemm/fp16 and gemm/fp32, transposes averaged.
std::vector<KernelFamily> fit_v100_gemm(const CsvTable& table, const GpuSpec& gpu,
                                        const std::string& source);
/// gemm_tuned.csv: families of the AMD tuner's tables; an exhaustive tuner's best, so burst and
/// optimistic.
std::vector<KernelFamily> fit_tuned_gemm(const CsvTable& table, const GpuSpec& gpu,
                                         const std::string& source);

/// v100-sxm2/conv_forward_backward.csv: conv_forward, conv_backward_data, conv_backward_weight in
/// fp16 and fp32.
std::vector<KernelFamily> fit_v100_conv(const CsvTable& table, const GpuSpec& gpu,
                                        const std::string& source);
/// conv_forward_fp32.csv.gz (rows above 200 us).
KernelFamily fit_conv_forward_fp32(const CsvTable& table, const GpuSpec& gpu,
                                   const std::string& source);
/// resnet50_batch128_operators_fp32.csv: tf32 convolutions; the backward operator holds both
/// gradients, whose time is split evenly over their equal flops.
std::vector<KernelFamily> fit_resnet_conv(const CsvTable& table, const GpuSpec& gpu,
                                          const std::string& source);
}  // namespace stepcast
