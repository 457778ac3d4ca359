#include "transports/crew.hpp"

#include "core/error_text.hpp"
#include "core/text.hpp"
#include "transports/settings.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace sagabox::transports {
namespace {

using Kind = spi::SendResult::Kind;

const LocalName& name_of(const spi::Parcel& parcel) {
  return static_cast<const LocalName&>(*parcel.address);
}

spi::SendResult failed(std::string_view error) { return {Kind::failed, std::string(error), {}}; }

}  // namespace

std::string local_name_problem(std::string_view name) {
  if (name.empty()) return "names nothing";
  if (text_facts(name).unprintable_at != std::string_view::npos) {
    return "has a control character or is not UTF-8";
  }
  return {};
}

Result<std::shared_ptr<const LocalName>> local_name(std::string_view scheme, std::string_view text,
                                                    const spi::AddressSettings& settings,
                                                    std::uint32_t threads) {
  const auto name = after_scheme(text, scheme, std::string(scheme) + "name");
  if (!name) return name.error();
  if (auto known = Settings(settings).check(); !known) return known.error();
  return std::make_shared<const LocalName>(std::string(*name), threads);
}

Crew::Crew(Options options)
    : options_(std::move(options)),
      parcels_({.clock = options_.clock,
                .items_max = options_.in_flight_max,
                .timed_out_error = "not handled by the deadline",
                .expired = [this](const auto& item) { give_up(item); }}) {
  const auto count = std::max<std::uint32_t>(options_.threads, 1);
  for (std::uint32_t i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
}

Crew::~Crew() {
  close(options_.clock.boot_now());
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Crew::send(std::span<spi::Parcel> parcels, spi::SendResults& results) {
  auto taken = parcels_.take(parcels, results);
  if (taken.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    for (auto& item : taken) {
      // An item whose deadline has passed already would never be removed from the queue.
      if (!item->answered()) queue_.push_back(std::move(item));
    }
  }
  changed_.notify_all();
}

void Crew::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ended_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Running mine{.item = std::move(queue_.front())};
    queue_.pop_front();
    if (follows_an_overdue_one(mine.item->parcel())) {
      lock.unlock();
      parcels_.answer(*mine.item, {Kind::later,
                                   "one before it, of its key, is past its deadline and has not "
                                   "returned yet",
                                   {}});
      lock.lock();
      continue;
    }
    if (!parcels_.begin(*mine.item)) continue;
    running_.push_back(&mine);
    lock.unlock();
    auto result = call(mine);
    lock.lock();
    std::erase(running_, &mine);
    lock.unlock();
    parcels_.answer(*mine.item, std::move(result));
    lock.lock();
  }
}

spi::SendResult Crew::call(const Running& running) const noexcept {
  const auto& parcel = running.item->parcel();
  const Delivery::Facts facts{.message = parcel.message.get(),
                              .table = parcel.table,
                              .sequence = parcel.sequence,
                              .shard = parcel.shard,
                              .epoch = parcel.epoch,
                              .attempt = parcel.attempt,
                              .deadline = parcel.deadline,
                              .stop = running.stop.get_token()};
  spi::SendResult result;
  try {
    result = options_.call(name_of(parcel), Delivery(facts));
  } catch (const std::exception& thrown) {
    result = failed(thrown.what());
  } catch (...) {
    result = failed("threw something that is not a std::exception");
  }
  if (result.kind == Kind::delivered) return result;
  if (result.error.empty()) result.error = "it did not say why";
  result.error = clean_error(result.error, error_bytes_default, parcel.message->payload().view());
  return result;
}

bool Crew::follows_an_overdue_one(const spi::Parcel& parcel) const {
  if (!parcel.message->has_key()) return false;
  return std::ranges::any_of(running_, [&](const Running* running) {
    const auto& other = running->item->parcel();
    return running->overdue && other.message->key() == parcel.message->key() &&
           other.message->tenant() == parcel.message->tenant() &&
           name_of(other).str() == name_of(parcel).str();
  });
}

void Crew::give_up(const TimedParcels::ItemPtr& item) {
  std::stop_source stop(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(running_, item, &Running::item);
    if (found == running_.end()) {
      // If all threads hang, items that wait must not pile up.
      std::erase(queue_, item);
      return;
    }
    (*found)->overdue = true;
    stop = (*found)->stop;
  }
  // Runs the stop callbacks.
  stop.request_stop();
}

}  // namespace sagabox::transports
