#include "simulation/saga/variants.hpp"

#include "saga/commands.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::simulation {
namespace {

using saga::CallEnded;
using saga::CommandArrived;
using saga::Decision;
using saga::Event;
using saga::Instance;
using saga::Plan;
using saga::TakenOver;

Decision ignores_take_overs(const Plan& plan, Instance instance, const Event& event, WallTime now,
                            Random& random) {
  if (std::holds_alternative<TakenOver>(event)) return {.instance = std::move(instance)};
  return saga::decide(plan, std::move(instance), event, now, random);
}

/// Takes what is under way for ended as soon as a step of it fails.
Decision does_not_wait_for_calls(const Plan& plan, Instance instance, const Event& event,
                                 WallTime now, Random& random) {
  const auto* const ended = std::get_if<CallEnded>(&event);
  if (ended != nullptr && ended->result.kind == saga::CallResult::Kind::fail) {
    for (std::size_t step = 0; step < instance.steps.size(); ++step) {
      auto& of = instance.steps[step];
      if (step == ended->key.step || !of.in_flight) continue;
      of.in_flight.reset();
      if (of.state == SagaStepState::running) of.state = SagaStepState::unknown;
    }
  }
  return saga::decide(plan, std::move(instance), event, now, random);
}

/// Does not remember commands, and lets a reply answer whatever waits.
Decision counts_replies_again(const Plan& plan, Instance instance, const Event& event, WallTime now,
                              Random& random) {
  const auto* const arrived = std::get_if<CommandArrived>(&event);
  if (arrived == nullptr || arrived->command.kind != SagaCommandKind::reply) {
    return saga::decide(plan, std::move(instance), event, now, random);
  }
  instance.commands.clear();
  auto command = arrived->command;
  auto request = saga::read_reply(command);
  if (request.ok()) {
    for (std::size_t step = 0; step < instance.steps.size(); ++step) {
      if (instance.steps[step].state != SagaStepState::waiting) continue;
      request->step = plan.step(step).given.name;
      command.body = saga::reply_body(*request);
    }
  }
  return saga::decide(plan, std::move(instance), CommandArrived{std::move(command)}, now, random);
}

}  // namespace

saga::Decider decider_of(SagaVariant variant) {
  switch (variant) {
    case SagaVariant::no_unknown_after_take_over:
      return &ignores_take_overs;
    case SagaVariant::compensation_before_call_ended:
      return &does_not_wait_for_calls;
    case SagaVariant::reply_counted_twice:
      return &counts_replies_again;
    default:
      return &saga::decide;
  }
}

Result<spi::SagaBatchReply> WatchedSagaStore::write(const spi::SagaBatch& batch) {
  const auto census = ownership_.census(spi::Scope(batch.fencing.scope));
  if (!census.ok()) return census.error();
  bool stale = false;
  auto owner = batch.fencing.owner;
  std::vector<spi::Fence> present;
  for (const auto& fence : batch.fencing.fences) {
    const auto& is = census->shards[fence.shard.value];
    stale = stale || is.owner != batch.fencing.owner || is.epoch != fence.epoch;
    present.push_back({.shard = fence.shard, .epoch = is.epoch});
    owner = is.owner;
  }
  auto sent = batch;
  if (!fenced_) sent.fencing = {batch.fencing.scope, owner, present};
  auto reply = store_.write(sent);
  if (stale && reply.ok() && reply->written()) violated_("a stale owner has written a batch");
  return reply;
}

}  // namespace sagabox::simulation
