#include "runtime/cuda/cupti_decode.hpp"

#include <dlfcn.h>

#include <cstring>

#include "tests/support/test.hpp"

using namespace stepcast;
using namespace stepcast::runtime;

namespace {
/// CUPTI's own walker, from the library that ships with the toolkit; it needs no driver.
NextRecord real_walker() {
  void* library = dlopen(STEPCAST_CUPTI, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr
             ? nullptr
             : reinterpret_cast<NextRecord>(dlsym(library, "cuptiActivityGetNextRecord"));
}
class Records {
 public:
  template <class Record>
  Records& add(const Record& record) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&record);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof record);
    return *this;
  }
  /// In memory aligned as CUPTI asks.
  RecordBatch decoded(NextRecord next) {
    std::vector<std::uint64_t> aligned((bytes_.size() + 7) / 8);
    std::memcpy(aligned.data(), bytes_.data(), bytes_.size());
    RecordBatch batch;
    decode(next, reinterpret_cast<std::uint8_t*>(aligned.data()), bytes_.size(), batch);
    return batch;
  }

 private:
  std::vector<std::uint8_t> bytes_;
};
template <class Record>
Record work(CUpti_ActivityKind kind, std::uint64_t start, std::uint64_t end, std::uint32_t stream,
            std::uint32_t correlation) {
  Record record{};
  record.kind = kind;
  record.start = start;
  record.end = end;
  record.streamId = stream;
  record.correlationId = correlation;
  return record;
}
}  // namespace

TEST_CASE("record structs have the sizes that CUPTI 13 writes", "[cuda]") {
  REQUIRE(sizeof(CUpti_ActivityKernel10) == 216);
  REQUIRE(sizeof(CUpti_ActivityMemcpy6) == 96);
  REQUIRE(sizeof(CUpti_ActivityMemset4) == 88);
  REQUIRE(sizeof(CUpti_ActivityExternalCorrelation) == 24);
}

TEST_CASE("hand-made records walk through the real cuptiActivityGetNextRecord", "[cuda]") {
  const NextRecord next = real_walker();
  if (next == nullptr) {
    WARN("skipped: libcupti cannot be opened here");
    return;
  }
  auto kernel =
      work<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 100, 200, 7, 41);
  kernel.name = "flash_forward";
  kernel.graphNodeId = 9;
  CUpti_ActivityExternalCorrelation ours{}, foreign{};
  ours.kind = foreign.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  ours.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  ours.externalId = 5;
  ours.correlationId = 41;
  foreign.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1;  // another tool's
  foreign.externalId = 6;
  foreign.correlationId = 41;
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  const RecordBatch batch =
      Records()
          .add(ours)
          .add(foreign)
          .add(call)
          .add(kernel)
          .add(work<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY, 210, 220, 8, 42))
          .add(work<CUpti_ActivityMemcpyPtoP4>(CUPTI_ACTIVITY_KIND_MEMCPY2, 230, 240, 8, 43))
          .add(work<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, 250, 260, 7, 44))
          .decoded(next);
  REQUIRE(batch.records.size() == 4);
  REQUIRE(batch.losses.unknown == 0);
  REQUIRE(batch.external_of == std::map<std::uint32_t, std::uint64_t>{{41, 5}});
  REQUIRE(batch.records[0].name == "flash_forward");
  REQUIRE(batch.records[0].graph_node == 9);
  REQUIRE(batch.records[0].end - batch.records[0].start == 100);
  REQUIRE(batch.records[1].kind == DeviceRecord::Kind::copy);
  REQUIRE(batch.records[1].stream == 8);
  REQUIRE(batch.records[2].kind == DeviceRecord::Kind::peer_copy);
  REQUIRE(batch.records[2].correlation == 43);
  REQUIRE(batch.records[3].kind == DeviceRecord::Kind::fill);
  REQUIRE(batch.records[3].start == 250);
}

TEST_CASE("records of kinds that nobody asked for are counted and skipped", "[cuda]") {
  const NextRecord next = real_walker();
  if (next == nullptr) {
    WARN("skipped: libcupti cannot be opened here");
    return;
  }
  CUpti_ActivityName name{};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  const RecordBatch batch =
      Records()
          .add(name)
          .add(work<CUpti_ActivityMemset4>(CUPTI_ACTIVITY_KIND_MEMSET, 1, 2, 3, 4))
          .decoded(next);
  REQUIRE(batch.losses.unknown == 1);
  REQUIRE(batch.records.size() == 1);
}
