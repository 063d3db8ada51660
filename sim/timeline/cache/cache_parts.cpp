#include "sim/timeline/cache/cache_parts.hpp"

namespace stepcast::trace {
void put_lists(BlobWriter& out, const TraceStore::Parts& parts) {
  out.put_array(parts.lanes);
  out.put_array(parts.ops);
  out.put_array(parts.stated_steps);
  out.put(static_cast<std::uint64_t>(parts.long_durations.size()));
  for (const auto& [slice, duration] : parts.long_durations) out.put(slice), out.put(duration);
  out.put(static_cast<std::uint64_t>(parts.texts.size()));
  for (const std::string& text : parts.texts) out.put_text(text);
  out.put(static_cast<std::uint64_t>(parts.tracks.size()));
  for (const TrackInfo& t : parts.tracks) {
    out.put(t.rank), out.put(t.first_lane), out.put(t.lanes), out.put(t.source), out.put(t.kind);
    out.put_text(t.pid), out.put_text(t.tid), out.put_text(t.label);
  }
  out.put(static_cast<std::uint64_t>(parts.ranks.size()));
  for (const RankInfo& r : parts.ranks)
    out.put(r.rank), out.put(r.node), out.put(r.first_track), out.put(r.tracks),
        out.put_text(r.label);
  out.put(static_cast<std::uint64_t>(parts.nodes.size()));
  for (const NodeInfo& n : parts.nodes)
    out.put_text(n.label), out.put(n.first_rank), out.put(n.ranks);
  out.put(static_cast<std::uint64_t>(parts.sources.size()));
  for (const SourceFile& s : parts.sources)
    out.put_text(s.path), out.put(s.time_base), out.put(s.clock_offset), out.put(s.clock_residual),
        out.put(s.clock_matches), out.put(s.offset_shift);
  out.put(static_cast<std::uint64_t>(parts.counters.size()));
  for (const CounterSeries& c : parts.counters)
    out.put(c.track), out.put_text(c.name), out.put_array(c.times), out.put_array(c.values),
        out.put(c.least), out.put(c.most);
  out.put(static_cast<std::uint64_t>(parts.metadata.size()));
  for (const MetadataEntry& m : parts.metadata)
    out.put(m.source), out.put_text(m.key), out.put_text(m.value);
  out.put_text(parts.origin);
  out.put(parts.begin), out.put(parts.end);
}

void get_lists(BlobReader& in, TraceStore::Parts& parts) {
  parts.lanes = in.get_array<LaneInfo>();
  parts.ops = in.get_array<Op>();
  parts.stated_steps = in.get_array<StatedStep>();
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    const auto slice = in.get<SliceId>();
    parts.long_durations.emplace_back(slice, in.get<Nanoseconds>());
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left)
    parts.texts.push_back(in.get_text());
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    TrackInfo t;
    t.rank = in.get<std::uint32_t>(), t.first_lane = in.get<std::uint32_t>(),
    t.lanes = in.get<std::uint32_t>(), t.source = in.get<std::uint32_t>();
    t.kind = in.get<TrackKind>();
    t.pid = in.get_text(), t.tid = in.get_text(), t.label = in.get_text();
    parts.tracks.push_back(std::move(t));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    RankInfo r;
    r.rank = in.get<std::int32_t>(), r.node = in.get<std::uint32_t>(),
    r.first_track = in.get<std::uint32_t>(), r.tracks = in.get<std::uint32_t>();
    r.label = in.get_text();
    parts.ranks.push_back(std::move(r));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    NodeInfo n;
    n.label = in.get_text(), n.first_rank = in.get<std::uint32_t>(),
    n.ranks = in.get<std::uint32_t>();
    parts.nodes.push_back(std::move(n));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    SourceFile s;
    s.path = in.get_text(), s.time_base = in.get<Nanoseconds>(),
    s.clock_offset = in.get<Nanoseconds>(), s.clock_residual = in.get<Nanoseconds>();
    s.clock_matches = in.get<int>(), s.offset_shift = in.get<std::uint8_t>();
    parts.sources.push_back(std::move(s));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    CounterSeries c;
    c.track = in.get<TrackId>(), c.name = in.get_text(), c.times = in.get_array<Nanoseconds>(),
    c.values = in.get_array<double>();
    c.least = in.get<double>(), c.most = in.get<double>();
    parts.counters.push_back(std::move(c));
  }
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    MetadataEntry m;
    m.source = in.get<std::uint32_t>(), m.key = in.get_text(), m.value = in.get_text();
    parts.metadata.push_back(std::move(m));
  }
  parts.origin = in.get_text();
  parts.begin = in.get<Nanoseconds>(), parts.end = in.get<Nanoseconds>();
}

void put_report(BlobWriter& out, const ImportReport& report) {
  out.put(static_cast<std::uint64_t>(report.files.size()));
  for (const auto& f : report.files)
    out.put_text(f.path), out.put_text(f.format), out.put(f.bytes), out.put(f.file_bytes),
        out.put(f.events), out.put(f.is_complete);
  out.put(report.events), out.put(report.events_by_phase);
  out.put(report.slices), out.put(report.instants), out.put(report.counter_values),
      out.put(report.flow_arrows), out.put(report.metadata), out.put(report.lost);
  out.put(static_cast<std::uint64_t>(report.anomalies.list().size()));
  for (const Anomaly& a : report.anomalies.list()) {
    out.put_text(a.name), out.put(a.severity), out.put_text(a.advice), out.put(a.count);
    out.put(static_cast<std::uint64_t>(a.places.size()));
    for (const std::string& place : a.places) out.put_text(place);
  }
}

void get_report(BlobReader& in, ImportReport& report) {
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    ImportReport::File f;
    f.path = in.get_text(), f.format = in.get_text(), f.bytes = in.get<std::uint64_t>(),
    f.file_bytes = in.get<std::uint64_t>();
    f.events = in.get<std::int64_t>(), f.is_complete = in.get<bool>();
    report.files.push_back(std::move(f));
  }
  report.events = in.get<std::int64_t>(),
  report.events_by_phase = in.get<std::array<std::int64_t, 128>>();
  report.slices = in.get<std::int64_t>(), report.instants = in.get<std::int64_t>(),
  report.counter_values = in.get<std::int64_t>();
  report.flow_arrows = in.get<std::int64_t>(), report.metadata = in.get<std::int64_t>(),
  report.lost = in.get<std::int64_t>();
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    const std::string name = in.get_text();
    const auto severity = in.get<Severity>();
    const std::string advice = in.get_text();
    const auto count = in.get<std::int64_t>();
    std::int64_t placed = 0;
    for (std::size_t places = in.count(); places > 0 && in.is_good(); --places) {
      const std::string place = in.get_text();
      if (placed < count) report.anomalies.add(name, severity, advice, place, 1), ++placed;
    }
    report.anomalies.add(name, severity, advice, "", count - placed);
  }
}
}  // namespace stepcast::trace
