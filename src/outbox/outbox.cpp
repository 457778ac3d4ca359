#include "outbox/relay.hpp"
#include "outbox/threads.hpp"
#include "outbox/upkeep/upkeep.hpp"
#include "outbox/writer.hpp"
#include "runtime/runtimes.hpp"

#include <sagabox/outbox.hpp>

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace sagabox {

enum class Outbox::Delivers : std::uint8_t { alone, shared, not_here, others };

struct Outbox::Parts {
  enum class State : std::uint8_t { fresh, running, closed };

  Parts(Store& on, TableName name, OutboxOptions settings)
      : store(on),
        table(std::move(name)),
        options(std::move(settings)),
        ids(*options.clock, *options.random),
        registry(*options.metrics, table.str(), options.sink.get()) {}

  void deliver(ownership::Share share, const ClaimRoles& roles) {
    relay =
        std::make_unique<outbox::Relay>(roles.outbox, store.control(), table, options, registry);
    threads = std::make_unique<outbox::Threads>(roles.outbox, table, options, *relay);
    engine.scopes.push_back({.options = {.scope = outbox::Relay::scope_of(table),
                                         .shards = roles.outbox.capabilities().shards,
                                         .share = share,
                                         .holder = relay.get()},
                             .stages = threads->stages()});
    keep(outbox::Upkeep::Readers::relays, roles.ownership);
  }

  void keep(outbox::Upkeep::Readers readers, spi::OwnershipStore& owners) {
    upkeep = std::make_unique<outbox::Upkeep>(store, table, options, readers,
                                              relay ? &relay->controls() : nullptr);
    for (auto& scope : upkeep->scopes()) engine.scopes.push_back({std::move(scope)});
    engine.work = upkeep.get();
    engine.lease = options.lease;
    engine.attach = [this](ownership::Worker& worker) {
      if (relay) relay->attach(worker);
      upkeep->attach(worker);
    };
    ownership = &owners;
  }

  void start() {
    const runtime::RuntimeParts with{.ownership = ownership,
                                     .clock = options.clock,
                                     .random = options.random,
                                     .metrics = options.metrics,
                                     .log = options.log};
    // A claim mode with its own ownership store ties the lease to the session of each table: the
    // end of one session must not affect the other tables.
    registration = ownership == &store.ownership() ? runtime::join(with, engine)
                                                   : runtime::start_alone(with, engine);
    started.store(registration.get());
    if (threads) threads->start();
  }
  [[nodiscard]] Status stop() {
    if (threads) return threads->stop(*registration);
    registration->hand_over(options.clock->boot_now() + options.drain_timeout);
    registration->end();
    return {};
  }

  Store& store;
  TableName table;
  OutboxOptions options;
  UlidSource ids;
  outbox::Registry registry;
  runtime::Engine engine;  // the relay's scope comes first
  spi::OwnershipStore* ownership = nullptr;
  std::unique_ptr<outbox::Relay> relay;
  std::unique_ptr<outbox::Writer> writer;
  std::unique_ptr<outbox::Upkeep> upkeep;
  std::unique_ptr<outbox::Threads> threads;
  std::unique_ptr<runtime::Registration> registration;
  std::atomic<const runtime::Registration*> started{nullptr};
  std::mutex mutex;  // protects `state`
  State state = State::fresh;
};

Outbox::Outbox(std::shared_ptr<Parts> parts) : parts_(std::move(parts)) {}
Outbox::Outbox(Outbox&&) noexcept = default;

Outbox& Outbox::operator=(Outbox&& other) noexcept {
  if (this == &other) return *this;
  Outbox ending(std::move(*this));
  parts_ = std::move(other.parts_);
  return *this;
}

Outbox::~Outbox() {
  if (!parts_) return;
  (void)stop();
  parts_->threads.reset();
  // The runtime stays until the last transaction with a write has ended, because the write checks
  // the lease.
  if (parts_->registration) parts_->registration->end();
}

Result<Outbox> Outbox::open(Store& store, OutboxOptions options, Delivers delivers) {
  if (auto checked = options.check(); !checked.ok()) return checked.error();
  auto table = TableName::parse(options.table);
  if (!table.ok()) return table.error();
  if (delivers == Delivers::alone && options.claim != ClaimMode::sharded) {
    return Error{Code::config_invalid, "claim is " + std::string(claim_mode_name(options.claim)) +
                                           "; that is for several_processes: a single process "
                                           "has all shards anyway"};
  }
  const auto mode = delivers == Delivers::shared ? options.claim : ClaimMode::sharded;
  const auto roles = store.claim_roles(mode);
  if (!roles) {
    return Error{Code::config_invalid, "claim is " + std::string(claim_mode_name(mode)) +
                                           ", which " + store.name() +
                                           " does not have; use sharded or leader"};
  }
  if (auto prepared = roles->outbox.prepare(*table); !prepared.ok()) return prepared.error();
  auto parts = std::make_shared<Parts>(store, std::move(table).value(), std::move(options));
  if (delivers == Delivers::others) {
    parts->keep(outbox::Upkeep::Readers::others, roles->ownership);
  } else if (delivers != Delivers::not_here) {
    const bool wants_all = delivers == Delivers::alone || mode == ClaimMode::leader;
    parts->deliver(wants_all ? ownership::Share::all : ownership::Share::even, *roles);
  }
  parts->writer = std::make_unique<outbox::Writer>(parts->table, parts->options, parts->ids,
                                                   parts->relay.get());
  parts->writer->belongs_to(parts);
  return Outbox(std::move(parts));
}

Result<Outbox> Outbox::single_process(Store& store, OutboxOptions options) {
  return open(store, std::move(options), Delivers::alone);
}

Result<Outbox> Outbox::several_processes(Store& store, OutboxOptions options) {
  return open(store, std::move(options), Delivers::shared);
}

Result<Outbox> Outbox::writer_only(Store& store, OutboxOptions options) {
  return open(store, std::move(options), Delivers::not_here);
}

Result<Outbox> Outbox::for_external_reader(Store& store, OutboxOptions options) {
  if (options.retention == Duration{}) {
    return Error{Code::config_invalid,
                 "retention is 0; for_external_reader deletes messages of that age, so say how "
                 "long the reader may take"};
  }
  return open(store, std::move(options), Delivers::others);
}

Status Outbox::listen(Topic topic, Listener listener) {
  return listen(AggregateType(aggregate_global), std::move(topic), std::move(listener));
}

Status Outbox::listen(AggregateType type, Topic topic, Listener listener) {
  const std::scoped_lock lock(parts_->mutex);
  if (parts_->state != Parts::State::fresh) {
    return Error{Code::tx_invalid_state, "listen() came after start(); register listeners first"};
  }
  return parts_->registry.add(type, topic, std::move(listener));
}

Status Outbox::listen(Topic topic, StoreListener listener) {
  return listen(AggregateType(aggregate_global), std::move(topic), std::move(listener));
}

Status Outbox::listen(AggregateType type, Topic topic, StoreListener listener) {
  const auto of_type = type.str() == aggregate_global ? "" : type.str() + ":";
  const auto name = parts_->table.str() + ":" + of_type + topic.str();
  if (listener.metrics == &no_metrics()) listener.metrics = parts_->options.metrics;
  auto made = listener_of(std::move(listener), name);
  if (!made.ok()) return made.error();
  return listen(std::move(type), std::move(topic), std::move(made).value());
}

Result<std::optional<Written>> Outbox::write(Transaction& tx, NewMessage message) {
  return parts_->writer->write(tx, std::move(message));
}

Result<std::vector<Written>> Outbox::write_all(Transaction& tx, std::vector<NewMessage> messages) {
  return parts_->writer->write_all(tx, std::move(messages));
}

Status Outbox::start() {
  const std::scoped_lock lock(parts_->mutex);
  if (!parts_->upkeep) {
    return Error{Code::tx_invalid_state,
                 "this outbox only writes; open it with single_process or several_processes"};
  }
  if (parts_->state == Parts::State::running) {
    return Error{Code::tx_invalid_state, "start() was called before; it is running"};
  }
  if (parts_->state == Parts::State::closed) {
    return Error{Code::tx_invalid_state, "start() came after stop(); open a new outbox instead"};
  }
  parts_->state = Parts::State::running;
  parts_->start();
  return {};
}

Status Outbox::stop() {
  const std::scoped_lock lock(parts_->mutex);
  const auto was = std::exchange(parts_->state, Parts::State::closed);
  if (was != Parts::State::running) return {};
  return parts_->stop();
}

Status Outbox::pause() {
  const std::scoped_lock lock(parts_->mutex);
  if (!parts_->relay || parts_->state != Parts::State::running) {
    return Error{Code::tx_invalid_state, "pause() needs a relay that runs; call start() first"};
  }
  parts_->registration->pause();
  return {};
}

Status Outbox::resume() {
  const std::scoped_lock lock(parts_->mutex);
  if (!parts_->relay || parts_->state != Parts::State::running) {
    return Error{Code::tx_invalid_state, "resume() needs a relay that runs; call start() first"};
  }
  parts_->registration->resume();
  return {};
}

OutboxSnapshot Outbox::snapshot() const {
  if (!parts_->relay) return {};
  auto snapshot = parts_->relay->snapshot();
  const auto* const started = parts_->started.load();
  snapshot.paused = started != nullptr && started->paused();
  return snapshot;
}

std::vector<RefusedResult> Outbox::refused(std::size_t rows_max) const {
  if (!parts_->relay) return {};
  return parts_->relay->settler().refused().list(rows_max);
}

std::optional<RefusedResult> Outbox::refused(Sequence sequence) const {
  if (!parts_->relay) return std::nullopt;
  return parts_->relay->settler().refused().find(sequence);
}

std::vector<UnroutedTopic> Outbox::unrouted(std::size_t topics_max) const {
  if (!parts_->relay) return {};
  return parts_->relay->unrouted().topics(topics_max);
}

std::optional<OwnerView> Outbox::owner_view(const MessageRecord& record) const {
  if (!parts_->relay) return std::nullopt;
  return parts_->relay->owner_view(record);
}

}  // namespace sagabox
