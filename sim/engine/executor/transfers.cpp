// Collectives and messages of a step.
#include <algorithm>

#include "sim/core/assert.hpp"
#include "sim/engine/executor/step_run.hpp"

namespace stepcast {

std::uint32_t StepRun::rendezvous_of(std::uint32_t worker, std::size_t lane,
                                     const ProgramOp& op) const {
  const Transfer& transfer = program_of(worker).transfers[op.index];
  const std::int32_t group = job_.workers[worker].group[static_cast<std::size_t>(transfer.group)];
  return static_cast<std::uint32_t>(static_cast<std::size_t>(group) * kLanes + lane);
}

bool StepRun::is_alone(std::uint32_t worker, const ProgramOp& op) const {
  return job_.workers[worker]
             .group[static_cast<std::size_t>(program_of(worker).transfers[op.index].group)] < 0;
}

const Transfer& StepRun::transfer_of(std::uint32_t worker, std::size_t lane) const {
  return program_of(worker).transfers[head(worker, lane).index];
}

// All members stand at the same collective; the first one's terms count.
const Transfer& StepRun::transfer_of_group(std::uint32_t group, std::size_t lane) const {
  return transfer_of(job_.groups[group].workers.front(), lane);
}

void StepRun::arrive(std::uint32_t worker, std::size_t lane, const ProgramOp& op) {
  if (is_alone(worker, op)) {
    const CollectiveTerms& terms = program_of(worker).transfers[op.index].terms;
    network_.after(terms.startup.value + terms.intra.value,
                   [this, worker, lane = static_cast<std::uint8_t>(lane)] {
                     if (recorder_)
                       recorder_->span(worker, static_cast<Lane>(lane), head(worker, lane),
                                       head(worker, lane).category,
                                       workers_[worker].lanes[lane].since, network_.now(),
                                       recorder_->payload_of(worker, transfer_of(worker, lane)));
                     complete(worker, lane);
                   });
    return;
  }
  const std::uint32_t index = rendezvous_of(worker, lane, op);
  const auto group = static_cast<std::uint32_t>(index / kLanes);
  Rendezvous& meeting = rendezvous_[index];
  if (++meeting.arrived < job_.groups[group].workers.size()) return;
  meeting.is_started = true;
  meeting.started = network_.now();
  for (const std::uint32_t member : job_.groups[group].workers) renew_owner(member);
  network_.after(transfer_of_group(group, lane).terms.startup.value,
                 [this, index] { launch_collective(index); });
}

void StepRun::launch_collective(std::uint32_t index) {
  const auto group_index = static_cast<std::uint32_t>(index / kLanes);
  const Group& group = job_.groups[group_index];
  const Transfer& transfer = transfer_of_group(group_index, index % kLanes);
  Rendezvous& meeting = rendezvous_[index];
  meeting.pending = 1;  // held until everything is under way
  if (transfer.terms.edge_bytes > 0) {
    for (const Edge& edge : group.edges) {
      const double bytes = transfer.terms.edge_bytes * edge.weight;
      if (bytes <= 0) continue;
      ++meeting.pending;
      network_.start_flow(edge.route, bytes, [this, index] { end_collective_part(index); });
    }
  }
  // A folded member stands for as many replicas, whose edges are not in the job.
  const double replicas = job_.workers[group.workers.front()].multiplicity;
  for (const Edge& edge : group.edges)
    payload_[static_cast<std::size_t>(transfer.group)] +=
        transfer.terms.payload_edge_bytes * edge.weight * replicas;
  if (transfer.terms.intra.value > 0) {
    ++meeting.pending;
    meeting.left = transfer.terms.intra.value;
    run_inside_nodes(index);
  }
  for (const std::uint32_t member : group.workers) change_on_wire(member, 1);
  end_collective_part(index);
}

void StepRun::run_inside_nodes(std::uint32_t index) {
  Rendezvous& meeting = rendezvous_[index];
  meeting.since = network_.now();
  meeting.speed = speed_of_collective(index);
  meeting.timer = network_.after(meeting.left / meeting.speed, [this, index] {
    rendezvous_[index].timer = 0;
    end_collective_part(index);
  });
}

// As slow as its slowest member. Collectives on the compute lane have no computation beside them.
double StepRun::speed_of_collective(std::uint32_t index) const {
  const auto lane = static_cast<Lane>(index % kLanes);
  if (lane != Lane::gradient && lane != Lane::gather) return 1;
  const Group& group = job_.groups[index / kLanes];
  const bool is_beside =
      job_.collective_slowdown_in_overlap != 1 &&
      std::any_of(group.workers.begin(), group.workers.end(),
                  [this](std::uint32_t member) { return workers_[member].is_computing; });
  return is_beside ? 1 / job_.collective_slowdown_in_overlap : 1;
}

void StepRun::change_computing(std::uint32_t worker, bool is_computing) {
  workers_[worker].is_computing = is_computing;
  if (job_.collective_slowdown_in_overlap == 1) return;
  for (const Lane name : {Lane::gradient, Lane::gather}) {
    const auto lane = static_cast<std::size_t>(name);
    if (!workers_[worker].lanes[lane].is_busy) continue;
    const ProgramOp& op = head(worker, lane);
    if (op.kind != GraphOp::Kind::collective || is_alone(worker, op)) continue;
    const std::uint32_t index = rendezvous_of(worker, lane, op);
    Rendezvous& meeting = rendezvous_[index];
    if (meeting.timer == 0 || speed_of_collective(index) == meeting.speed) continue;
    network_.cancel_timer(meeting.timer);
    meeting.left = std::max(0.0, meeting.left - meeting.speed * (network_.now() - meeting.since));
    run_inside_nodes(index);
  }
}

void StepRun::end_collective_part(std::uint32_t index) {
  Rendezvous& meeting = rendezvous_[index];
  if (--meeting.pending > 0) return;
  const std::size_t lane = index % kLanes;
  const Group& group = job_.groups[index / kLanes];
  const double started = meeting.started;
  meeting = Rendezvous{};
  for (const std::uint32_t member : group.workers) {
    if (recorder_) {
      const ProgramOp& op = head(member, lane);
      recorder_->span(member, static_cast<Lane>(lane), op, Category::straggler_wait,
                      workers_[member].lanes[lane].since, started);
      recorder_->span(member, static_cast<Lane>(lane), op, op.category, started, network_.now(),
                      recorder_->payload_of(member, transfer_of(member, lane)));
    }
    change_on_wire(member, -1);
  }
  for (const std::uint32_t member : group.workers) complete(member, lane);
}

void StepRun::send(std::uint32_t worker, std::size_t lane, const ProgramOp& op) {
  const std::uint32_t index = messages_.open(messages_.outgoing(worker, op.peer_stage), op.tag);
  MessageBox::Message& message = messages_[index];
  STEPCAST_ASSERT(!message.is_sent, "a tag names one message of its channel at a time");
  message.is_sent = true;
  message.send_lane = static_cast<std::uint8_t>(lane);
  message.sent = network_.now();
  const Channel& channel = job_.channels[message.channel];
  if (message.is_awaited) renew_owner(channel.to);
  const CollectiveTerms& terms = program_of(worker).transfers[op.index].terms;
  network_.after(terms.startup.value + channel.latency.value,
                 [this, index] { launch_message(index); });
}

void StepRun::launch_message(std::uint32_t index) {
  MessageBox::Message& message = messages_[index];
  const Channel& channel = job_.channels[message.channel];
  const Transfer& transfer = transfer_of(channel.from, message.send_lane);
  message.is_on_wire = true;
  message.pending = 1;
  for (const Edge& edge : channel.edges) {
    payload_[static_cast<std::size_t>(transfer.group)] +=
        transfer.terms.payload_edge_bytes * edge.weight * job_.workers[channel.from].multiplicity;
    const double bytes = transfer.terms.edge_bytes * edge.weight;
    if (bytes <= 0) continue;
    ++message.pending;
    network_.start_flow(edge.route, bytes, [this, index] { end_message_part(index); });
  }
  if (transfer.terms.intra.value > 0) {
    ++message.pending;
    network_.after(transfer.terms.intra.value, [this, index] { end_message_part(index); });
  }
  change_on_wire(channel.from, 1);
  change_on_wire(channel.to, 1);
  end_message_part(index);
}

void StepRun::end_message_part(std::uint32_t index) {
  MessageBox::Message& message = messages_[index];
  if (--message.pending > 0) return;
  message.has_arrived = true;
  message.is_on_wire = false;
  const Channel& channel = job_.channels[message.channel];
  const std::size_t send_lane = message.send_lane;
  change_on_wire(channel.from, -1);
  change_on_wire(channel.to, -1);
  if (recorder_) {
    const ProgramOp& op = head(channel.from, send_lane);
    recorder_->span(channel.from, static_cast<Lane>(send_lane), op, op.category, message.sent,
                    network_.now(),
                    recorder_->payload_of(channel, transfer_of(channel.from, send_lane)));
  }
  if (message.is_awaited) deliver(index);
  complete(channel.from, send_lane);
}

void StepRun::receive(std::uint32_t worker, std::size_t lane, const ProgramOp& op) {
  const std::uint32_t index = messages_.open(messages_.incoming(worker, op.peer_stage), op.tag);
  MessageBox::Message& message = messages_[index];
  message.is_awaited = true;
  message.recv_lane = static_cast<std::uint8_t>(lane);
  if (message.has_arrived) deliver(index);
}

void StepRun::deliver(std::uint32_t index) {
  const MessageBox::Message message = messages_[index];
  const Channel& channel = job_.channels[message.channel];
  messages_.close(index);
  if (recorder_) {
    const ProgramOp& op = head(channel.to, message.recv_lane);
    const double start =
        std::max(message.sent, workers_[channel.to].lanes[message.recv_lane].since);
    recorder_->span(channel.to, static_cast<Lane>(message.recv_lane), op, op.category, start,
                    network_.now());
    recorder_->arrow(channel.from, static_cast<Lane>(message.send_lane), channel.to,
                     static_cast<Lane>(message.recv_lane), op.name, message.sent, network_.now());
  }
  complete(channel.to, message.recv_lane);
}
}  // namespace stepcast
