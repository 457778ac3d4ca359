#include <sagabox/spi/transaction.hpp>

#include <utility>

namespace sagabox {
namespace {

using Observers = std::vector<std::unique_ptr<TransactionObserver>>;

/// Takes the observers out first, so that each is told once even if one of them asks for another
/// verdict.
void tell(Observers& observers, void (TransactionObserver::*verdict)() noexcept) noexcept {
  const Observers told = std::exchange(observers, {});
  for (const auto& observer : told) (observer.get()->*verdict)();
}

class NoInbox final : public Inbox {
 public:
  Result<bool> first_time(const IdempotencyKey&) override { return refused(); }
  Result<BarrierAnswer> barrier(const BarrierCall&) override { return refused(); }

 private:
  static Error refused() {
    return {Code::tx_invalid_state,
            "the store of this transaction has no inbox; use one on PostgreSQL, SQLite or in "
            "memory"};
  }
};

class NoSagas final : public SagaInbox {
 public:
  Status append(std::span<const SagaCommand>) override {
    return Error{Code::tx_invalid_state,
                 "the store of this transaction has no sagas; use one on PostgreSQL, SQLite or in "
                 "memory"};
  }
};

class NoEvents final : public EventWriter {
 public:
  Result<std::vector<Published>> publish(std::span<const HubEvent>) override {
    return Error{Code::tx_invalid_state,
                 "the store of this transaction has no delivery hub; use one on PostgreSQL, SQLite "
                 "or in memory"};
  }
};

}  // namespace

Inbox& Transaction::inbox() {
  static NoInbox none;
  return none;
}

SagaInbox& Transaction::sagas() {
  static NoSagas none;
  return none;
}

EventWriter& Transaction::events() {
  static NoEvents none;
  return none;
}

Transaction::~Transaction() { abandoned(); }

void Transaction::observe(std::unique_ptr<TransactionObserver> observer) {
  observers_.push_back(std::move(observer));
}

void Transaction::committed() noexcept { tell(observers_, &TransactionObserver::committed); }
void Transaction::rolled_back() noexcept { tell(observers_, &TransactionObserver::rolled_back); }
void Transaction::abandoned() noexcept { tell(observers_, &TransactionObserver::abandoned); }

}  // namespace sagabox
