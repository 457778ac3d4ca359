#include "stores/postgres/wake/listener.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

namespace sagabox::postgres {
namespace {

constexpr Duration backoff_min = std::chrono::milliseconds(50);
constexpr Duration backoff_max = std::chrono::seconds(1);
/// A connection that received nothing for this long is checked.
constexpr Duration silence_max = std::chrono::seconds(10);

const Statement probe{"", "SELECT 1"};

int whole_milliseconds(Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(duration).count());
}

}  // namespace

Listener::Listener(sql::Sections& sections, ConnectSettings settings, Heard heard)
    : listen_(sections.take_only("wake_listen")),
      take_sleeper_(sections.take_only("wake_take_sleeper")),
      settings_(std::move(settings)),
      seen_(std::move(heard)),
      end_(eventfd(0, EFD_CLOEXEC)) {}

Listener::~Listener() {
  if (thread_.joinable()) {
    const std::uint64_t one = 1;
    // The write fails only if the count is full; the eventfd is readable then too.
    [[maybe_unused]] const auto written = write(end_, &one, sizeof one);
    thread_.join();
  }
  if (end_ >= 0) close(end_);
}

void Listener::start() {
  const std::lock_guard lock(mutex_);
  if (end_ < 0 || thread_.joinable()) return;
  thread_ = std::thread([this] { run(); });
}

std::optional<Listener::Session> Listener::session() {
  const std::lock_guard lock(mutex_);
  return session_;
}

void Listener::run() {
  Duration backoff = backoff_min;
  for (;;) {
    auto connection = Connection::open(settings_);
    if (connection.ok()) {
      listen(**connection);
      const std::lock_guard lock(mutex_);
      if (session_) backoff = backoff_min;
      session_.reset();
    }
    if (pause(backoff)) return;
    backoff = std::min(backoff * 2, backoff_max);
  }
}

void Listener::listen(Connection& connection) {
  auto listening = connection.run(listen_.only(), {}, Effect::none);
  if (!listening.ok()) return;
  auto sleeper = connection.run(take_sleeper_.only(), {}, Effect::none);
  if (!sleeper.ok() || sleeper->is_null(0, 0)) return;
  {
    const std::lock_guard lock(mutex_);
    session_ = Session{++sessions_, sleeper->int4(0, 0)};
  }
  seen_({});
  for (;;) {
    std::array<pollfd, 2> sockets{{{PQsocket(connection.handle()), POLLIN, 0}, {end_, POLLIN, 0}}};
    const int ready = poll(sockets.data(), sockets.size(), whole_milliseconds(silence_max));
    if (sockets[1].revents != 0) return;
    if (ready == 0 && !connection.run(probe, {}, Effect::none).ok()) return;
    if (!hear(connection)) return;
  }
}

bool Listener::hear(Connection& connection) {
  const bool alive = PQconsumeInput(connection.handle()) == 1;
  struct Free {
    void operator()(PGnotify* notify) const noexcept { PQfreemem(notify); }
  };
  while (std::unique_ptr<PGnotify, Free> notify{PQnotifies(connection.handle())}) {
    seen_(notify->extra);
  }
  return alive && PQstatus(connection.handle()) == CONNECTION_OK;
}

bool Listener::pause(Duration for_long) {
  pollfd end{end_, POLLIN, 0};
  return poll(&end, 1, whole_milliseconds(for_long)) > 0;
}

}  // namespace sagabox::postgres
