#include "server/api/group_writer.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace sagabox::server {
namespace {

/// The memory of a waiting message. Keys, ids and the other short texts are bounded: the size of
/// the envelope covers the object, and their lengths are added.
std::size_t bytes_of(const NewMessage& message) {
  constexpr std::size_t envelope = 256;
  const auto& trace = message.trace;
  std::size_t bytes = envelope + message.payload.size() + message.key.size() +
                      message.aggregate_id.size() + message.content_type.size() +
                      trace.tracestate.size() + trace.request_id.size() +
                      trace.correlation_id.size();
  for (const auto& header : message.headers) {
    bytes += sizeof header + header.first.size() + header.second.size();
  }
  return bytes;
}

std::size_t bytes_of(const std::vector<NewMessage>& messages) {
  std::size_t bytes = 0;
  for (const auto& message : messages) bytes += bytes_of(message);
  return bytes;
}

/// Whether one message may be the cause, so that the others can be written without it. Messages in
/// doubt must not be written again: those without an id of their own would be duplicated.
bool may_be_one_message(Code code) {
  return code != Code::storage_unavailable && code != Code::storage_in_doubt;
}

}  // namespace

GroupWriter::GroupWriter(Store& store, OutboxSource outbox, GroupWriterOptions options)
    : store_(store), outbox_(std::move(outbox)), options_(options) {
  for (std::uint32_t at = 0; at < std::max(options_.writers, 1U); ++at) {
    threads_.emplace_back([this] { run(); });
  }
}

GroupWriter::~GroupWriter() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

bool GroupWriter::submit(std::vector<NewMessage> messages, Done done) {
  const auto rows = messages.size();
  const auto bytes = bytes_of(messages);
  {
    const std::scoped_lock lock(mutex_);
    const bool full = waiting_rows_ + rows > options_.waiting_rows_max ||
                      waiting_bytes_ + bytes > options_.waiting_bytes_max;
    if (stopping_ || (full && !waiting_.empty())) return false;
    waiting_rows_ += rows;
    waiting_bytes_ += bytes;
    waiting_.push_back({std::move(messages), bytes, std::move(done)});
  }
  changed_.notify_one();
  return true;
}

std::vector<GroupWriter::Job> GroupWriter::take_group(std::unique_lock<std::mutex>& lock) {
  changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
  std::vector<Job> group;
  std::size_t rows = 0;
  std::size_t bytes = 0;
  while (!waiting_.empty()) {
    auto& next = waiting_.front();
    const bool fits = rows + next.messages.size() <= options_.group_rows_max &&
                      bytes + next.bytes <= options_.group_bytes_max;
    if (!fits && !group.empty()) break;
    rows += next.messages.size();
    bytes += next.bytes;
    group.push_back(std::move(next));
    waiting_.pop_front();
  }
  waiting_rows_ -= rows;
  waiting_bytes_ -= bytes;
  return group;
}

void GroupWriter::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    auto group = take_group(lock);
    lock.unlock();
    if (group.empty()) return;
    write(std::move(group));
  }
}

GroupWriter::Outcome GroupWriter::write_together(std::vector<NewMessage> messages, Whole whole) {
  const auto wanted = messages.size();
  try {
    const auto outbox = outbox_();
    return store_.transaction([&](OwnedTransaction& tx) -> Outcome {
      auto written = outbox->write_all(tx, std::move(messages));
      if (whole == Whole::needed && written.ok() && written->size() != wanted) {
        return Error{Code::tx_invalid_state, "a hook left out some; whose they are is not known"};
      }
      return written;
    });
  } catch (const std::exception& thrown) {
    return Error{Code::unknown_internal, std::string("the write failed: ") + thrown.what()};
  }
}

void GroupWriter::write(std::vector<Job> group) {
  if (group.size() == 1) {
    auto& only = group.front();
    return only.done(write_together(std::move(only.messages), Whole::not_needed));
  }
  std::vector<NewMessage> all;
  for (const auto& job : group) std::ranges::copy(job.messages, std::back_inserter(all));
  const auto outcome = write_together(std::move(all), Whole::needed);
  if (outcome.ok()) {
    auto next = outcome->begin();
    for (auto& job : group) {
      const auto end = next + static_cast<std::ptrdiff_t>(job.messages.size());
      job.done(std::vector<Written>(next, end));
      next = end;
    }
    return;
  }
  const bool one_by_one = may_be_one_message(outcome.error().code);
  for (auto& job : group) {
    job.done(one_by_one ? write_together(std::move(job.messages), Whole::not_needed) : outcome);
  }
}

}  // namespace sagabox::server
