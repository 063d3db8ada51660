#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/comm/communicator.hpp"
#include "runtime/compress/compress_kernels.hpp"

/// Gradient compression: what ranks exchange in place of an fp32 all-reduce. No CUDA, no oneDNN: a
/// Device with compress_kernels() does the loops, HostDevice (host_device.hpp) where there is none.
///
/// scheme      travels                         combined by    why source fp16, bf16  2 bytes per
/// element             all-reduce     a sum of casts                              Micikevicius et
/// al., ICLR 2018 int8, fp8   1 byte, a scale per 256         all-gather     scales differ by rank
/// Dettmers, ICLR 2016 onebit      1 bit, a scale per 256          all-gather     scales differ by
/// rank                       Seide et al., Interspeech 2014 topk        index and value of the
/// largest  all-gather     every rank keeps others                     Aji, Heafield, EMNLP 2017
/// randomk     values at shared random places  all-reduce     same places on all ranks Stich et
/// al., NeurIPS 2018 powersgd    two factors of rank r           two all-reduces  M q is linear in
/// M, so is M' p for a common p  Vogels et al., NeurIPS 2019 Error feedback adds what the last step
/// lost to the next gradient (Karimireddy et al., ICML 2019).
///
/// To add one: 1. a .cpp with a Compressor and its factory; 2. loops it needs in CompressKernels,
/// on host and device; 3. a row in registry.cpp; 4. tests/runtime/compress walks the registry.
namespace stepcast::runtime {

struct CompressorChoice {
  std::string scheme;   // a name of compressor_names()
  double ratio = 0.01;  // topk, randomk: share of elements kept, (0, 1]
  int rank = 4;         // powersgd, 1 to kLargestRank
  bool has_error_feedback = true;
  std::uint64_t seed = 1;  // randomk, powersgd; the same on all ranks
};

enum class Combine : std::uint8_t { all_reduce, all_gather };
/// One exchange. all_reduce: `payload` is summed in place, `count` elements of its precision.
/// all_gather: `payload` is `count` 4-byte words of this rank, `gathered` takes those of all.
struct Message {
  Combine combine = Combine::all_reduce;
  View payload, gathered;
  ElementCount count;
  Bytes bytes() const { return Bytes(count.value * bytes_per_element(payload.precision)); }
};

/// One rank's compressor of one gradient bucket of fixed size; holds the residual. One stream at a
/// time.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Exchanges per reduction; encode(i) is answered by decode(i) once its message was exchanged, i
  /// from 0.
  virtual int rounds() const { return 1; }
  virtual Message encode(Stream&, int round, View gradient) = 0;
  /// After the last round `gradient` is the approximate sum over ranks.
  virtual void decode(Stream&, int round, View gradient) = 0;
};

std::vector<std::string> compressor_names();
/// Whether the scheme is known to diverge or stall without error feedback, with the reason for
/// people; empty: it converges.
std::string needs_error_feedback(const std::string& scheme);
/// `ranks`: size of the group that will exchange. Unknown scheme, ratio or rank out of range:
/// InputError.
std::unique_ptr<Compressor> new_compressor(const CompressorChoice&, Device&, std::int64_t elements,
                                           int ranks);

/// The collective that a message asks for.
void exchange(Communicator&, Stream&, const Message&);
/// In place of communicator.all_reduce(stream, gradient, elements). Returns the bytes of this
/// rank's messages.
Bytes reduce_compressed(Compressor&, Stream&, View gradient, Communicator&);
}  // namespace stepcast::runtime
