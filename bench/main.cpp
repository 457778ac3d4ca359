#include "bench/core.hpp"
#include "bench/measure.hpp"
#include "bench/report.hpp"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>
#include <string>

namespace {

constexpr int exit_failed = 1;
constexpr int exit_wrong_use = 2;

constexpr const char* explanation = R"(Groups:
  core   the engine on the store in memory, with the classes and defaults of `sagabox demo`
           core.dispatch     pre-filled store, 100-byte payloads, half with keys, 4 workers
           core.hot.p50_us   from the call of commit to the handler, idle engine; also p99
           core.write        transactions with one message each, one thread

Every figure stands beside a hand-written baseline of the same run, the best of the repeats is
taken of both, and what was settled is counted from the store: a run that lost or repeated
something is an error.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Measures sagabox against hand-written baselines.", "sagabox_bench");
  app.footer(explanation);
  std::string group;
  bool as_json = false;
  sagabox::bench::Size size;
  app.add_option("group", group, "which benchmarks; all unless told")
      ->check(CLI::IsMember({"core"}));
  app.add_flag("--json", as_json, "one JSON object a line");
  app.add_option("--messages", size.messages, "a dispatch run; fewer are quicker and less exact")
      ->check(CLI::Range(100U, 100'000'000U));
  app.add_option("--hand-overs", size.hand_overs, "single commits a latency run")
      ->check(CLI::Range(1U, 1'000'000U));
  app.add_option("--repeats", size.repeats, "runs of each, the best counts")
      ->check(CLI::Range(1U, 100U));
  try {
    app.parse(argc, argv);
    using Form = sagabox::bench::Report::Form;
    sagabox::bench::Report report(as_json ? Form::json : Form::table, size.repeats);
    sagabox::bench::run_core(size, report);
    return 0;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : exit_wrong_use;
  } catch (const std::exception& error) {
    std::cerr << "sagabox_bench: " << error.what() << '\n';
    return exit_failed;
  }
}
