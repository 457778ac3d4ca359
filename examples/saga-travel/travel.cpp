// A trip is a flight, a hotel and a car of three companies. Either all of them are booked, or what
// was booked is cancelled:
//
//   saga-travel           books all three
//   saga-travel no-car    has no car: hotel and flight are cancelled again
//
// Everything lies in one file, travel.db. A trip that a crash interrupts goes on at the next start.

#include "../sql.hpp"

#include <sagabox/saga.hpp>
#include <sagabox/saga_admin.hpp>
#include <sagabox/stores/sqlite.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <syncstream>
#include <thread>

namespace {

/// The companies, each with its rows of the table `booking`. They would be other services; what
/// matters is that each has transactions of its own.
class Companies {
 public:
  Companies(sagabox::Store& store, bool no_car) : store_(store), no_car_(no_car) {
    store_.inbox()->prepare().value();
    store_
        .transaction([](sagabox::OwnedTransaction& tx) {
          sql::run(sagabox::sqlite::connection_of(tx),
                   "CREATE TABLE IF NOT EXISTS booking (trip TEXT, what TEXT)");
          return sagabox::Status();
        })
        .value();
  }

  sagabox::SagaAnswer book(const sagabox::SagaCall& call) {
    if (no_car_ && call.step() == "car") return sagabox::saga_fail("there is no car left");
    if (once(call, "INSERT INTO booking (trip, what) VALUES (?, ?)") ==
        sagabox::BarrierAnswer::too_late) {
      return sagabox::saga_fail("it was cancelled before it was booked");
    }
    tell(call.step() + " booked");
    return sagabox::saga_ok();
  }

  sagabox::SagaAnswer cancel(const sagabox::SagaCall& call) {
    once(call, "DELETE FROM booking WHERE trip = ? AND what = ?");
    tell(call.step() + " cancelled");
    return sagabox::saga_ok();
  }

 private:
  /// Calls may come twice, and a cancellation before its booking. The barrier is a note of the call
  /// in the transaction that does the work, and says whether there is work to do. A throw means
  /// that nobody knows whether it was done: the saga calls again.
  sagabox::BarrierAnswer once(const sagabox::SagaCall& call, const char* work) {
    return store_
        .transaction([&](sagabox::OwnedTransaction& tx) {
          auto answer = tx.inbox().barrier(call.barrier());
          if (answer.ok() && runs(*answer)) {
            sql::run(sagabox::sqlite::connection_of(tx), work, call.saga().str(), call.step());
          }
          return answer;
        })
        .value();
  }

  static void tell(const std::string& line) { std::osyncstream(std::cout) << line + "\n"; }

  sagabox::Store& store_;
  bool no_car_;
};

/// Waits for the end of a trip, and shows how each of its steps ended.
void show_end(const sagabox::SagaAdmin& admin, const sagabox::SagaId& trip) {
  auto seen = admin.show(trip).value();
  while (!seen || !has_ended(seen->state)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    seen = admin.show(trip).value();
  }
  std::cout << "the trip is " << saga_state_name(seen->state) << '\n';
  for (const auto& step : seen->steps) {
    std::cout << "  " << step.name << ": " << saga_step_state_name(step.state)
              << (step.error.empty() ? "" : ", " + step.error) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool no_car = argc > 1 && std::string(argv[1]) == "no-car";
  const auto store = sagabox::sqlite::open("travel.db").value();
  Companies companies(*store, no_car);

  auto sagas = sagabox::Sagas::create(*store).value();
  sagas.function("book", [&](const auto& call) { return companies.book(call); }).value();
  sagas.function("cancel", [&](const auto& call) { return companies.cancel(call); }).value();
  sagas
      .define({.name = "travel",
               .steps = {{.name = "flight", .action = "fn:book", .compensation = "fn:cancel"},
                         {.name = "hotel", .action = "fn:book", .compensation = "fn:cancel"},
                         {.name = "car", .action = "fn:book", .compensation = "fn:cancel"}}})
      .value();
  sagas.start().value();

  // In a transaction of yours, beside your own rows: no commit, no trip.
  const auto trip =
      store
          ->transaction([&](sagabox::OwnedTransaction& tx) {
            return sagas.start_saga(tx, {.definition = "travel", .input = R"({"who": "Ada"})"});
          })
          .value();

  show_end(sagabox::SagaAdmin::open(*store, {.actor = "saga-travel"}).value(), trip);
  sagas.stop().value();
}
