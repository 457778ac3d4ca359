#include "simulation/producer.hpp"

#include "simulation/process.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace sagabox::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint32_t drafts_max = 6;
constexpr std::uint64_t payload_bytes_max = 2'000;
/// Of 10,000 commits, where crashes happen at all.
constexpr std::uint32_t deaths_before_word = 100;

}  // namespace

/// The database's own time: whoever is outside has a good clock.
class Producer::OutsideClock final : public Clock {
 public:
  explicit OutsideClock(const World& world) : world_(world) {}
  [[nodiscard]] WallTime wall_now() const override { return world_.database_now(); }
  [[nodiscard]] BootTime boot_now() const override { return world_.now(); }

 private:
  const World& world_;
};

Producer::Producer(World& world, std::size_t number, Kind kind, std::size_t home)
    : world_(world),
      number_(number),
      kind_(kind),
      home_(home),
      random_(seeded_random(world.settings().seed * 77 + number)),
      clock_(std::make_unique<OutsideClock>(world)),
      ids_(*clock_, *random_),
      options_(world.settings().options) {
  options_.clock = clock_.get();
  options_.random = random_.get();
  outside_ = std::make_unique<outbox::Writer>(world.table(), options_, ids_, nullptr);
}

Producer::~Producer() = default;

void Producer::next(Duration delay, void (Producer::*step)()) {
  // What was planned before its process died does not happen any more.
  auto* process = kind_ == Kind::outside ? nullptr : world_.process_in(home_);
  world_.after(delay, process == nullptr ? 0 : process->id(), [this, step, born = generation_] {
    if (born == generation_) (this->*step)();
  });
}

void Producer::begin() { next(world_.up_to(milliseconds(100)), &Producer::open); }

void Producer::write_more() {
  if (!resting()) return;
  // It may also be about to begin.
  ++generation_;
  begin();
}

outbox::Writer* Producer::writer() {
  if (kind_ == Kind::outside) return outside_.get();
  auto* process = world_.process_in(home_);
  return process == nullptr ? nullptr : &process->writer();
}

Transaction& Producer::transaction() const {
  if (open_->owned) return *open_->owned;
  return *open_->enlisted;
}

void Producer::home_died(std::size_t slot) {
  if (kind_ == Kind::outside || slot != home_) return;
  ++generation_;
  if (open_) {
    if (!open_->owned && !open_->connection->in_transaction() && !open_->written.empty()) {
      world_.statistics().count(Event::crash_between_commit_and_word);
    }
    release_keys(open_->keys);
    // The server sees the connection break: rolled back, unless it was committed before.
    open_->enlisted.reset();
    open_.reset();
  }
  again_.clear();
  release_keys(again_keys_);
  world_.after(milliseconds(200), 0, [this, born = generation_] {
    if (born == generation_) begin();
  });
}

void Producer::release_keys(std::vector<std::string>& keys) {
  for (const auto& key : keys) world_.unlock_key(key);
  keys.clear();
}

NewMessage Producer::draw_message(Open& open) {
  NewMessage draft;
  Record record;
  record.topic = static_cast<std::uint32_t>(world_.below(topic_count));
  if (world_.chance(5'000)) {
    // Two tenants use the same keys: "acme/k1" and "default/k1" are apart.
    const auto number = world_.below(world_.settings().keys);
    const auto tenant = number % 2 == 0 ? tenant_default : std::string_view("acme");
    auto key = std::string(tenant) + "/k" + std::to_string(number / 2);
    const bool mine = std::find(open.keys.begin(), open.keys.end(), key) != open.keys.end();
    if (mine || world_.lock_key(key)) {
      if (!mine) open.keys.push_back(key);
      record.key = std::move(key);
    }
  }
  record.delayed = world_.chance(800);
  const auto& added = world_.ledger().add(std::move(record));
  auto& stored = world_.ledger().at(added.number);
  stored.temper = world_.script().temper(stored.number);
  stored.refusal = world_.script().refusal(stored.number, !stored.key.empty());
  draft.id = Ledger::id_of(stored.number);
  draft.topic = stored.temper == Temper::unroutable ? std::string("nobody")
                                                    : "t" + std::to_string(stored.topic);
  if (const auto slash = stored.key.find('/'); slash != std::string::npos) {
    draft.tenant = stored.key.substr(0, slash);
    draft.key = stored.key.substr(slash + 1);
  }
  draft.priority = static_cast<Priority>(world_.below(3));
  draft.payload =
      bytes(std::string(1 + world_.below(world_.chance(500) ? payload_bytes_max : 50), 'x'));
  if (stored.delayed) {
    draft.not_before = world_.database_now() + milliseconds(world_.below(1'500));
  }
  return draft;
}

void Producer::draw_drafts(Open& open) {
  if (!again_.empty()) {
    open.drafts = std::exchange(again_, {});
    open.keys = std::exchange(again_keys_, {});
    return;
  }
  const auto count = 1 + world_.below(world_.chance(2'000) ? drafts_max : 2);
  for (std::uint64_t at = 0; at < count; ++at) open.drafts.push_back(draw_message(open));
}

void Producer::open() {
  if (again_.empty() && !world_.wants_more_messages()) return;
  Open open;
  open.timeline = world_.timeline();
  if (kind_ == Kind::owned) {
    auto begun = world_.store().begin();
    if (!begun.ok()) return next(world_.up_to(milliseconds(50)), &Producer::open);
    open.owned = std::move(begun).value();
  } else {
    open.connection = std::make_unique<memory::Connection>(world_.store().connect());
    if (!open.connection->begin().ok()) {
      return next(world_.up_to(milliseconds(50)), &Producer::open);
    }
    open.enlisted = std::make_unique<memory::Enlisted>(memory::enlist(*open.connection).value());
  }
  world_.trace(What::begun, 0, number_);
  draw_drafts(open);
  open_ = std::move(open);
  next(world_.call_time(), &Producer::write);
}

void Producer::write() {
  auto* by = writer();
  if (by == nullptr) return roll_back();
  const auto left = open_->drafts.size() - open_->next;
  const auto count = left == 1 || world_.chance(7'000) ? left : 1;
  const auto from = open_->drafts.begin() + static_cast<std::ptrdiff_t>(open_->next);
  auto written =
      by->write_all(transaction(), std::vector(from, from + static_cast<std::ptrdiff_t>(count)));
  if (!written.ok()) {
    // One writer at a time, a fault, or a fail-over: begin again with the same messages.
    again_ = open_->drafts;
    again_keys_ = std::exchange(open_->keys, {});
    return roll_back();
  }
  for (const auto& row : *written) {
    const auto number = *Ledger::number_of(row.id);
    world_.trace(What::written, 0, number, row.sequence.value);
    if (!row.duplicate) world_.ledger().at(number).inserted = world_.now();
    open_->written.push_back(row);
  }
  open_->next += count;
  if (open_->next < open_->drafts.size()) return next(world_.call_time(), &Producer::write);
  if (open_->connection) {
    (void)open_->connection->put(
        "orders", std::to_string(open_->drafts.front().id.size()) + open_->drafts.front().id,
        "paid");
  }
  // Some transactions stay open for long: their rows commit below what has been read.
  const auto stays =
      world_.chance(1'000) ? world_.up_to(milliseconds(2'000)) : world_.up_to(milliseconds(20));
  next(stays, &Producer::end);
}

void Producer::end() {
  if (world_.chance(1'000)) return roll_back();
  const auto status = open_->owned ? open_->owned->commit() : open_->connection->commit();
  settle_verdict(status);
}

void Producer::settle_verdict(const Status& status) {
  const bool still_open =
      open_->owned ? open_->owned->is_open() : open_->connection->in_transaction();
  if (still_open) return next(world_.up_to(milliseconds(20)), &Producer::end);
  const bool aborted = open_->timeline != world_.timeline();
  const bool happened =
      status.ok() || (!aborted && world_.last_fault() == memory::Fault::lost_after);
  if (happened) commit_done();
  if (!status.ok()) return in_doubt();
  if (!open_->owned && world_.chance(7'000)) {
    auto* process = kind_ == Kind::outside ? nullptr : world_.process_in(home_);
    if (process != nullptr && world_.crashes_happen() && world_.chance(deaths_before_word)) {
      world_.crash(process->id());
    }
    return next(world_.up_to(milliseconds(5)), &Producer::say_committed);
  }
  close();
}

void Producer::commit_done() {
  for (const auto& row : open_->written) {
    const auto number = *Ledger::number_of(row.id);
    const auto topic = "t" + std::to_string(world_.ledger().at(number).topic);
    world_.trace(What::committed, 0, number, row.sequence.value);
    const bool late = !row.duplicate && row.sequence < world_.read_to(row.shard);
    if (late) world_.statistics().count(Event::late_commit);
    world_.ledger().committed(row, world_.gate().closed_since(topic).has_value(), late);
  }
  if (open_->connection) {
    world_.business_committed(*Ledger::number_of(open_->written.front().id));
  }
}

void Producer::say_committed() {
  open_->enlisted->committed();
  close();
}

void Producer::in_doubt() {
  world_.statistics().count(Event::commit_in_doubt);
  world_.trace(What::in_doubt, 0, static_cast<std::uint64_t>(world_.last_fault()));
  if (world_.chance(7'000)) {
    world_.statistics().count(Event::same_id_again);
    again_ = std::move(open_->drafts);
    again_keys_ = std::exchange(open_->keys, {});
  }
  close();
}

void Producer::roll_back() {
  world_.statistics().count(Event::rollback);
  world_.trace(What::rolled_back, 0, number_);
  if (open_->owned) {
    (void)open_->owned->rollback();
  } else {
    (void)open_->connection->rollback();
    if (world_.chance(5'000)) open_->enlisted->rolled_back();
  }
  close();
}

void Producer::close() {
  release_keys(open_->keys);
  open_->enlisted.reset();
  open_.reset();
  next(world_.up_to(world_.chance(9'000) ? milliseconds(60) : milliseconds(600)), &Producer::open);
}

}  // namespace sagabox::simulation
