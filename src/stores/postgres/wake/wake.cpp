#include "stores/postgres/wake/wake.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Threads that came and went are forgotten; one that comes again begins awake.
constexpr std::size_t sleeps_max = 256;

}  // namespace

Wake::Wake(sql::Sections& sections, Context& context, Duration flag_interval)
    : context_(context),
      clock_(*context.relay.settings().clock),
      flag_interval_(flag_interval),
      statements_(sections),
      listener_(sections, context.relay.settings(),
                [this](std::string_view outbox) { heard(outbox); }) {}

Wake::Place& Wake::place(const TableName& table) {
  const std::lock_guard lock(mutex_);
  auto& known = places_[table.str()];
  if (!known) known = std::make_unique<Place>(statements_.of(table));
  return *known;
}

void Wake::ring(const TableName& table) { place(table).bell.ring(); }

void Wake::heard(std::string_view outbox) {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, known] : places_) {
    if (outbox.empty() || name == outbox) known->bell.ring();
  }
}

void Wake::wait(const TableName& table, Duration timeout) {
  Place& at = place(table);
  if (!context_.notify) {
    at.bell.wait(timeout);
    return;
  }
  listener_.start();
  const auto session = listener_.session();
  const auto step = next_step(at, session);
  if (step.act == Sleep::Act::raise_flag) return raise_flag(at, *session);
  if (step.act == Sleep::Act::lower_flag) lower_flag(at);
  at.bell.wait(std::min(timeout, step.wait));
}

Sleep::Step Wake::next_step(Place& at, std::optional<Listener::Session> session) {
  const std::lock_guard lock(at.mutex);
  if (at.sleeps.size() > sleeps_max) at.sleeps.clear();
  auto& sleep = at.sleeps.try_emplace(std::this_thread::get_id(), flag_interval_).first->second;
  return sleep.next(clock_.boot_now(), session ? std::optional(session->number) : std::nullopt);
}

void Wake::raise_flag(Place& at, const Listener::Session& session) {
  {
    const std::lock_guard flag(at.flag);
    if (set_flag(at, session, true)) {
      const std::lock_guard lock(at.mutex);
      at.sleeps.try_emplace(std::this_thread::get_id(), flag_interval_)
          .first->second.raised(clock_.boot_now(), session.number);
      return;
    }
  }
  // An error: not asleep, and the next call tries again.
  at.bell.wait(Sleep::awake_for);
}

bool Wake::set_flag(Place& at, const Listener::Session& session, bool asleep) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return false;
  Params params;
  params.int4(session.sleeper).boolean(asleep);
  return (*connection)->run(at.statements.set_asleep, params, Effect::commits).ok();
}

void Wake::looked(const TableName& table, const spi::Horizon& unseen, std::size_t rows) {
  if (!context_.notify) return;
  Place& at = place(table);
  {
    const std::lock_guard lock(at.mutex);
    const auto mine = at.sleeps.find(std::this_thread::get_id());
    if (mine == at.sleeps.end()) return;
    if (!mine->second.looked(clock_.boot_now(), unseen, rows)) return;
  }
  lower_flag(at);
}

void Wake::lower_flag(Place& at) {
  const std::lock_guard flag(at.flag);
  {
    const std::lock_guard lock(at.mutex);
    // The flag is the process's: another of its threads may still need it.
    if (std::ranges::any_of(at.sleeps, [](const auto& one) { return one.second.flag_is_up(); })) {
      return;
    }
  }
  // An error: the flag runs out.
  if (const auto session = listener_.session()) (void)set_flag(at, *session, false);
}

}  // namespace sagabox::postgres
