#include "stores/postgres/wake/hub_waits.hpp"

#include "stores/postgres/outbox/decode.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace sagabox::postgres {

std::optional<spi::Horizon> horizon_in(const sql::Row& row) {
  constexpr std::uint32_t counted_from = 3;
  const auto next = static_cast<std::uint32_t>(row.integer(2)) + counted_from;
  return decode_horizon(row.text(1), next, row.text(3));
}

HubWaits::HubWaits(sql::Sections& sections, Context& context, Wake& wake)
    : context_(context),
      wake_(wake),
      unseen_(sections.take("hub_unseen")),
      feeds_{{{.watched = {"hub:events", "hub_events_flags"}, .tells_unseen = true},
              {.watched = {"hub:deliveries", "hub_deliveries_flags"}},
              {.watched = {"hub:jobs", "hub_jobs_flags"}}}} {}

HubWaits::Feed& HubWaits::feed_of(std::string_view name) {
  const auto known = std::ranges::find(
      feeds_, name, [](const Feed& feed) -> std::string_view { return feed.watched.name; });
  return known == feeds_.end() ? feeds_.front() : *known;
}

void HubWaits::looked(const spi::Horizon& unseen, std::size_t rows) {
  wake_.looked(feed_of(sql::hub_events_feed).watched, unseen, rows);
}

void HubWaits::wait(std::string_view name, Duration timeout) {
  auto& feed = feed_of(name);
  if (feed.tells_unseen) return wake_.wait(feed.watched, timeout);
  const auto unseen = take_unseen(feed);
  // Where it must be known and is not, this look does not count.
  if (unseen || !wake_.is_falling_asleep(feed.watched)) {
    wake_.looked(feed.watched, unseen.value_or(spi::Horizon{}), feed.rows.exchange(0));
  }
  wake_.wait(feed.watched, timeout);
  if (wake_.is_falling_asleep(feed.watched)) look_before_reads(feed);
}

std::optional<spi::Horizon> HubWaits::take_unseen(Feed& feed) {
  const std::lock_guard lock(feed.mutex);
  const auto known = feed.unseen.find(std::this_thread::get_id());
  if (known == feed.unseen.end()) return std::nullopt;
  auto unseen = std::move(known->second);
  feed.unseen.erase(known);
  return unseen;
}

void HubWaits::look_before_reads(Feed& feed) {
  auto session = context_.hub_sessions.reader();
  if (!session.ok()) return;
  auto rows = (*session)->run(unseen_);
  if (!rows.ok() || rows->empty()) return;
  auto unseen = horizon_in(rows->front());
  if (!unseen) return;
  const std::lock_guard lock(feed.mutex);
  feed.unseen.insert_or_assign(std::this_thread::get_id(), std::move(*unseen));
}

}  // namespace sagabox::postgres
