#include "bench/postgres/relay.hpp"

#include <utility>

namespace sagabox::bench::postgres {
namespace {

double checked(World& in, Store& store, Outbox outbox, std::int64_t rows,
               const OutboxOptions& options) {
  const auto shards = store.outbox().capabilities().shards;
  const auto by = options.sink ? By::sink : By::listener;
  const auto rate = bench::drain(std::move(outbox), shards, rows, by);
  in.require(0, options.retention > Duration{} ? rows : 0);
  return rate;
}

}  // namespace

double drain(World& in, std::int64_t rows, const OutboxOptions& options) {
  const auto store = in.open();
  return checked(in, *store, Outbox::single_process(*store, options).value(), rows, options);
}

double drain_shared(World& in, std::int64_t rows, const OutboxOptions& options) {
  const auto store = in.open();
  return checked(in, *store, Outbox::several_processes(*store, options).value(), rows, options);
}

}  // namespace sagabox::bench::postgres
