#include "stores/postgres/wake/wake.hpp"

#include <algorithm>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Sleeps of threads that ended are dropped; a thread that returns begins awake.
constexpr std::size_t sleeps_max = 256;

}  // namespace

Wake::Wake(sql::Sections& sections, Context& context, Duration flag_interval)
    : context_(context),
      clock_(*context.relay.settings().clock),
      flag_interval_(flag_interval),
      set_asleep_(sections.take_only("wake_set_asleep")),
      listener_(sections, context.relay.settings(),
                [this](std::string_view feed) { heard(feed); }) {}

Wake::Place& Wake::place(const WatchedFeed& feed) {
  const std::lock_guard lock(mutex_);
  auto& known = places_[feed.name];
  if (!known) {
    auto& flags = flags_[feed.flags];
    if (!flags) flags = std::make_unique<Flags>(feed.flags);
    known = std::make_unique<Place>(*flags);
  }
  return *known;
}

void Wake::notify(const WatchedFeed& feed) { place(feed).signal.notify(); }

void Wake::heard(std::string_view feed) {
  const std::lock_guard lock(mutex_);
  if (!feed.empty()) {
    const auto known = places_.find(feed);
    if (known != places_.end()) known->second->signal.notify();
    return;
  }
  for (const auto& [name, known] : places_) known->signal.notify();
}

void Wake::wait(const WatchedFeed& feed, Duration timeout) {
  Place& at = place(feed);
  if (!context_.notify) {
    at.signal.wait(timeout);
    return;
  }
  listener_.start();
  const auto session = listener_.session();
  const auto step = next_step(at, session);
  if (step.act == Sleep::Act::raise_flag) return raise_flag(at, *session);
  if (step.act == Sleep::Act::lower_flag) lower_flag(at.flags);
  at.signal.wait(std::min(timeout, step.wait));
}

Wake::Flags::Sleeper Wake::sleeper(const Place& at) { return {&at, std::this_thread::get_id()}; }

Sleep::Step Wake::next_step(Place& at, std::optional<Listener::Session> session) {
  const std::lock_guard lock(at.flags.mutex);
  auto& sleeps = at.flags.sleeps;
  if (sleeps.size() > sleeps_max) sleeps.clear();
  auto& sleep = sleeps.try_emplace(sleeper(at), flag_interval_).first->second;
  return sleep.next(clock_.boot_now(), session ? std::optional(session->number) : std::nullopt);
}

void Wake::raise_flag(Place& at, const Listener::Session& session) {
  {
    const std::lock_guard change(at.flags.change);
    if (set_flag(at.flags, session, true)) {
      const std::lock_guard lock(at.flags.mutex);
      at.flags.sleeps.try_emplace(sleeper(at), flag_interval_)
          .first->second.raised(clock_.boot_now(), session.number);
      return;
    }
  }
  // On an error the reader is not asleep, and the next call tries again.
  at.signal.wait(Sleep::awake_for);
}

bool Wake::set_flag(const Flags& flags, const Listener::Session& session, bool asleep) {
  auto connection = context_.relay.take();
  if (!connection.ok()) return false;
  Params params;
  params.text(flags.sequence).int4(session.sleeper).boolean(asleep);
  return (*connection)->run(set_asleep_.only(), params, Effect::commits).ok();
}

void Wake::looked(const WatchedFeed& feed, const spi::Horizon& unseen, std::size_t rows) {
  if (!context_.notify) return;
  Place& at = place(feed);
  {
    const std::lock_guard lock(at.flags.mutex);
    const auto mine = at.flags.sleeps.find(sleeper(at));
    if (mine == at.flags.sleeps.end()) return;
    if (!mine->second.looked(clock_.boot_now(), unseen, rows)) return;
  }
  lower_flag(at.flags);
}

bool Wake::is_falling_asleep(const WatchedFeed& feed) {
  Place& at = place(feed);
  const std::lock_guard lock(at.flags.mutex);
  const auto mine = at.flags.sleeps.find(sleeper(at));
  return mine != at.flags.sleeps.end() && mine->second.is_falling();
}

void Wake::lower_flag(Flags& flags) {
  const std::lock_guard change(flags.change);
  {
    const std::lock_guard lock(flags.mutex);
    // The flag belongs to the process: another of its threads may still need it.
    if (std::ranges::any_of(flags.sleeps,
                            [](const auto& one) { return one.second.flag_is_up(); })) {
      return;
    }
  }
  // An error is ignored: the flag expires.
  if (const auto session = listener_.session()) (void)set_flag(flags, *session, false);
}

}  // namespace sagabox::postgres
