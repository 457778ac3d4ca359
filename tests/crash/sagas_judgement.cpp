#include "crash/sagas_judgement.hpp"

#include <map>
#include <utility>

namespace sagabox::crash {
namespace {

std::string ending(const std::optional<SagaState>& state) {
  return state ? std::string(saga_state_name(*state)) : "not there";
}

}  // namespace

std::vector<std::string> problems_of(const std::vector<SagaRun>& sagas,
                                     const std::vector<BookedStep>& books,
                                     const std::vector<std::string>& steps) {
  std::vector<std::string> problems;
  std::map<std::pair<std::string, std::string>, BookedStep> booked;
  for (const auto& one : books) booked[{one.saga, one.step}] = one;
  for (const auto& saga : sagas) {
    const bool completed = saga.ended == SagaState::completed;
    if (!completed && saga.ended != SagaState::cancelled) {
      problems.push_back(saga.id + " is " + ending(saga.ended));
      continue;
    }
    if (saga.must_end && saga.must_end != saga.ended) {
      problems.push_back(saga.id + " is " + ending(saga.ended) + " and had to be " +
                         ending(saga.must_end));
    }
    for (const auto& step : steps) {
      const auto found = booked.extract({saga.id, step});
      const auto book = found ? found.mapped() : BookedStep{};
      const auto what = step + " of " + saga.id;
      if (completed && (book.done != 1 || book.undone != 0)) {
        problems.push_back(what + ", which completed, was done " + std::to_string(book.done) +
                           " times and undone " + std::to_string(book.undone) + " times");
      }
      if (!completed && (book.done != book.undone || book.done > 1)) {
        problems.push_back(what + ", which was cancelled, was done " + std::to_string(book.done) +
                           " times and undone " + std::to_string(book.undone) + " times");
      }
      if (book.once && book.asked > 1) {
        problems.push_back(what + " is not idempotent and was asked " + std::to_string(book.asked) +
                           " times");
      }
    }
  }
  for (const auto& [place, book] : booked) {
    problems.push_back(place.second + " of " + place.first + " is from nowhere");
  }
  return problems;
}

}  // namespace sagabox::crash
