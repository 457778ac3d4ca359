#include "cli/demo/demo.hpp"

#include "cli/demo/demo_operator.hpp"
#include "cli/demo/demo_report.hpp"
#include "cli/demo/keys.hpp"
#include "cli/demo/order_book.hpp"
#include "cli/demo/order_service.hpp"
#include "cli/option.hpp"
#include "cli/signals.hpp"
#include "cli/terminal.hpp"
#include "cli/values.hpp"
#include "cli/views/operator_view.hpp"

#include <sagabox/outbox.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

namespace sagabox::cli {
namespace {

constexpr Duration refresh_drawn = std::chrono::milliseconds(250);
constexpr Duration refresh_printed = std::chrono::seconds(1);
/// Bounds the delay between a key and its effect.
constexpr Duration control_interval = std::chrono::milliseconds(200);
constexpr Duration drain_limit = std::chrono::seconds(5);

struct DemoOptions {
  std::string store = "memory:";
  OrderServiceOptions orders{};
  std::uint32_t workers = OutboxOptions{}.workers;
  std::optional<Duration> run_for{};
  bool json_summary = false;
  bool keys = false;
};

/// Short waits and few attempts, so that retries and dead letters can be watched.
RetryPolicy impatient() {
  RetryPolicy policy;
  policy.attempts_max = 4;
  policy.backoff_max = std::chrono::seconds(1);
  return policy;
}

OutboxOptions outbox_options(const DemoOptions& options) {
  OutboxOptions settings;
  settings.table = "orders";
  settings.retry = impatient();
  settings.workers = options.workers;
  settings.control_interval = control_interval;
  // The sum includes every order ever placed.
  settings.retention = std::chrono::hours(24 * 365 * 10);
  return settings;
}

/// "1 shard", "16 shards".
std::string how_many(std::uint32_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class Demo {
 public:
  Demo(const DemoOptions& options, std::unique_ptr<OrderBook> book)
      : options_(options),
        settings_(outbox_options(options)),
        terminal_(options.json_summary ? stderr : stdout),
        book_(std::move(book)),
        outbox_(Outbox::single_process(store_, settings_).value()),
        orders_(*book_, outbox_, options.orders, clock_, system_random()),
        operator_(store_, table_, clock_, [this] { orders_.correct_addresses(); }),
        keyboard_(keys_wanted() ? Keyboard::Opened::yes : Keyboard::Opened::no) {}

  ~Demo() { (void)outbox_.stop(); }  // its listener is destroyed before the outbox
  Demo(const Demo&) = delete;
  Demo& operator=(const Demo&) = delete;

  int run() {
    introduce();
    orders_.listen().value();
    outbox_.start().value();
    begun_ = clock_.boot_now();
    rates_.add(figures());
    orders_.open();
    watch();
    drain();
    return conclude();
  }

 private:
  void introduce() {
    const auto& orders = options_.orders;
    terminal_.print(
        Line()
            .add("sagabox " SAGABOX_VERSION, Style::strong)
            .add(fmt::format(" · demo · store {} · {} · 1 table, {}", store_.name(),
                             how_many(settings_.workers, "worker"),
                             how_many(store_.outbox().capabilities().shards, "shard"))));
    terminal_.print(fmt::format(
        "A shop writes {} orders a second, each with its message in one transaction; {:g} % are "
        "rolled back.",
        grouped(orders.rate), orders.rollback_percent));
    terminal_.print(
        fmt::format("A mailer listens, in order for each customer; {:g} % of its attempts fail and "
                    "are retried, "
                    "{} at most.",
                    orders.fail_percent, settings_.retry.attempts_max));
    terminal_.print(book_->survives()
                        ? "Kill it as you like: it goes on where it was. Ctrl-C drains and does "
                          "the sum; twice quits."
                        : "Nothing survives this process. Ctrl-C drains and does the sum; twice "
                          "quits.");
    if (keyboard_.open() && !terminal_.interactive()) terminal_.print(keys_line(false));
    terminal_.print();
  }

  void watch() {
    const auto end = options_.run_for ? begun_ + *options_.run_for : BootTime::max();
    auto show_at = begun_ + refresh();
    for (auto now = begun_; now < end; now = clock_.boot_now()) {
      if (asked_to_stop(std::min(show_at, end) - now)) return;
      if (clock_.boot_now() >= std::min(show_at, end)) {
        show();
        show_at = clock_.boot_now() + refresh();
      }
      if (orders_.sold_out() || orders_.error()) return;
    }
  }

  /// Waits, at most `timeout`, and handles keys. Returns true if a signal or a key asks to stop.
  bool asked_to_stop(Duration timeout) {
    if (!keyboard_.has_next()) {
      const auto woken = signals_.wait(timeout, keyboard_.descriptor());
      if (woken == StopSignals::Woken::stop) return true;
      if (woken == StopSignals::Woken::readable) keyboard_.read();
    }
    while (const auto key = keyboard_.next()) {
      if (*key == Key::quit) return true;
      press(*key);
    }
    operator_.look();
    tell_news();
    return false;
  }

  void press(Key key) {
    operator_.press(key);
    if (terminal_.interactive()) return show();
    if (key != Key::dead_letters) return;
    for (const auto& line : operator_.dead_letters(DemoOperator::letters_max)) {
      terminal_.print(line);
    }
  }

  /// On a terminal the block shows them.
  void tell_news() {
    for (const auto& line : operator_.news()) {
      if (!terminal_.interactive()) terminal_.print(line);
    }
  }

  /// Stops new orders, and lets pending messages be delivered.
  void drain() {
    orders_.close();
    terminal_.print();
    if (orders_.sold_out()) {
      terminal_.print(
          fmt::format("{} orders are enough for one day", grouped(options_.orders.orders_max)));
    }
    terminal_.print(operator_.paused() ? "the table is paused: what is pending stays pending"
                                       : "draining; Ctrl-C quits at once");
    for (const auto limit = clock_.boot_now() + drain_limit; clock_.boot_now() < limit;) {
      if (operator_.paused()) break;
      if (figures().stats.pending == 0 && !operator_.replaying()) break;
      if (asked_to_stop(refresh_drawn)) {
        keyboard_.close();
        signals_.quit();
      }
      if (terminal_.interactive()) show();
    }
    keyboard_.close();  // before a signal can end the process
    signals_.unblock();
    const auto stopped = outbox_.stop();
    if (!stopped.ok()) terminal_.print(Line().add(stopped.error().text(), Style::warning));
  }

  int conclude() {
    const auto counted = figures();
    terminal_.print();
    for (const auto& line : demo_summary(counted)) terminal_.print(line);
    if (options_.json_summary) {
      fmt::print("{}\n", demo_summary_json(counted, store_.name()));
    }
    const auto error = orders_.error();
    if (error) terminal_.print(Line().add("the shop had to close: " + error->text(), Style::bad));
    return adds_up(counted) && !error ? 0 : 1;
  }

  void show() {
    const auto current = figures();
    rates_.add(current);
    if (!terminal_.interactive()) {
      terminal_.print(demo_line(current, rates_));
      if (const auto bar = operator_.progress()) terminal_.print(*bar);
      return;
    }
    auto block = demo_block(current, rates_);
    if (keyboard_.open()) {
      block.emplace_back();
      const auto below =
          operator_.block(terminal_.rows() - std::min(terminal_.rows(), block.size()));
      block.insert(block.end(), below.begin(), below.end());
    }
    terminal_.draw(block);
  }

  DemoStats figures() {
    return {.elapsed = clock_.boot_now() - begun_,
            .committed = book_->count().value(),
            .rolled_back = orders_.rolled_back(),
            .attempts_failed = orders_.attempts_failed(),
            .ghosts = orders_.ghosts(),
            .replayed = operator_.replayed(),
            .paused = operator_.paused(),
            .stats = store_.outbox_admin().stats(table_).value(),
            .outbox = outbox_.snapshot()};
  }

  /// Keys are read on an interactive terminal; from a pipe only if requested.
  [[nodiscard]] bool keys_wanted() const {
    return options_.keys || (terminal_.interactive() && stdin_is_terminal());
  }

  [[nodiscard]] Duration refresh() const {
    return terminal_.interactive() ? refresh_drawn : refresh_printed;
  }

  StopSignals signals_;  // first member: before any thread starts
  const DemoOptions options_;
  const OutboxOptions settings_;
  const Clock& clock_ = system_clock();
  Terminal terminal_;
  const std::unique_ptr<OrderBook> book_;
  Store& store_ = book_->store();
  const TableName table_ = TableName::parse("orders").value();
  Outbox outbox_;
  OrderService orders_;
  DemoOperator operator_;
  Keyboard keyboard_;
  Rates rates_;
  BootTime begun_{};
};

int run_demo(const DemoOptions& options) {
  auto book = open_order_book(options.store);
  if (!book.ok()) {
    fmt::print(stderr, "sagabox: {}\n", book.error().text());
    return 2;
  }
  return Demo(options, std::move(*book)).run();
}

constexpr const char* demo_examples = R"(Examples:
  sagabox demo                            500 orders a second until Ctrl-C
  sagabox demo --store sqlite:demo.db     in a file: kill it, start it again, it goes on
  sagabox demo --rate 5000 --fail 20      more orders, a bad day for the mailer
  sagabox demo --for 10s --json-summary   ends by itself; one JSON object on standard output,
                                          the rest on standard error
  (sleep 5; printf rd) | sagabox demo --for 10s --keys
                                          keys from a script

Keys, on a terminal or with --keys: d shows the oldest dead letters or hides them, r replays all
of them (their wrong addresses are put right first), p pauses and resumes the table, q stops like
Ctrl-C.

Exit code 0: every committed order is delivered, pending, dead or quarantined. 1: it does not add
up. 2: wrong use.)";

}  // namespace

void add_demo(CLI::App& app, std::function<int()>& run) {
  auto options = std::make_shared<DemoOptions>();
  auto* verb = app.add_subcommand(
      "demo", "An order service that writes orders and messages in one transaction, live");
  verb->footer(demo_examples);
  add_option(*verb, "--store", "URL", options->store, parse_store,
             "where orders and messages are kept: memory:, or sqlite:FILE");
  add_option(
      *verb, "--rate", "N", options->orders.rate,
      [](std::string_view text) { return parse_count("rate", text, 1, 1'000'000); },
      "orders a second, 500 unless told");
  add_option(
      *verb, "--fail", "PERCENT", options->orders.fail_percent, parse_percent,
      "of the listener's attempts, 5 unless told; a tenth as many orders fail until replayed");
  add_option(*verb, "--for", "DURATION", options->run_for, parse_duration,
             "ends by itself after this time: 500ms, 10s, 5m");
  add_option(
      *verb, "--workers", "N", options->workers,
      [](std::string_view text) { return parse_count("workers", text, 1, 256); },
      "threads that run the listener, 4 unless told");
  verb->add_flag("--json-summary", options->json_summary,
                 "the summary as one JSON object on standard output");
  verb->add_flag("--keys", options->keys,
                 "takes the keys d r p q from standard input also when it is not a terminal");
  verb->callback([options, &run] { run = [options] { return run_demo(*options); }; });
}

}  // namespace sagabox::cli
