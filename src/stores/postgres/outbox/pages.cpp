#include "stores/postgres/outbox/pages.hpp"

#include "stores/postgres/outbox/decode.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace sagabox::postgres {
namespace {

/// Columns of a read: the number of the range, from 1, or 0 for the snapshot, and the snapshot.
constexpr int range_column = 0;
constexpr int snapshot_column = 1;
constexpr int row_column = 2;

/// The rows of each range.
std::vector<std::vector<int>> by_range(const Rows& answer, std::size_t ranges) {
  std::vector<std::vector<int>> found(ranges);
  for (int row = 0; row < answer.size(); ++row) {
    const auto number = static_cast<std::size_t>(answer.int8(row, range_column));
    if (number > 0) found[number - 1].push_back(row);
  }
  return found;
}

std::uint64_t row_sequence(const Rows& answer, int row) {
  return answer.uint8(row, row_column + RowColumns::sequence);
}

}  // namespace

std::vector<std::span<const spi::Range>> in_parts(std::span<const spi::Range> ranges) {
  constexpr std::uint64_t parts_max = 4;
  const auto rows_each = std::max(part_rows_min, (rows_asked(ranges) + parts_max - 1) / parts_max);
  std::vector<std::span<const spi::Range>> parts;
  std::size_t begin = 0;
  std::uint64_t rows = 0;
  for (std::size_t end = 1; end <= ranges.size(); ++end) {
    rows += rows_asked(ranges.subspan(end - 1, 1));
    if (end < ranges.size() && rows < rows_each) continue;
    parts.push_back(ranges.subspan(begin, end - begin));
    begin = end;
    rows = 0;
  }
  if (parts.empty()) parts.push_back(ranges);
  return parts;
}

template <class Range>
void Pages::add(Rows answer, std::span<const Range> ranges) {
  const auto found = by_range(answer, ranges.size());
  const auto late_before = late_.size();
  for (std::size_t i = 0; i < ranges.size() && !full_; ++i) {
    reply_.parts.push_back({0, true});
    auto& part = reply_.parts.back();
    for (const int row : found[i]) {
      const auto bytes = bytes_of_row(answer, row, row_column);
      full_ = !fits(bytes);
      if (full_ || part.rows == ranges[i].rows_max) {
        part.exhausted = false;
        break;
      }
      bytes_ += bytes;
      ++part.rows;
      add_row(answer, row, ranges[i].shard);
    }
  }
  if (late_.size() > late_before) kept_.push_back(std::move(answer));
}

bool Pages::fits(std::size_t bytes) const {
  return reply_.rows.empty() || (bytes <= bytes_max_ && bytes_ <= bytes_max_ - bytes);
}

void Pages::add_row(const Rows& answer, int row, Shard shard) {
  constexpr int payload = row_column + RowColumns::payload;
  if (answer.is_null(row, payload)) {
    late_.push_back({kept_.size(), row, reply_.parts.size() - 1, reply_.rows.size(), shard});
    reply_.rows.emplace_back();
  } else {
    reply_.rows.push_back(decode_row(answer, row, row_column, shard, answer.text(row, payload)));
  }
}

Result<spi::ReadReply> Pages::finish(Connection& connection, const Statement& payloads) {
  if (!late_.empty()) {
    if (auto fetched = fetch_late(connection, payloads); !fetched.ok()) return fetched.error();
  }
  reply_.timeline = connection.timeline();
  return std::move(reply_);
}

Status Pages::fetch_late(Connection& connection, const Statement& payloads) {
  Params params;
  params.array(Type::int8, late_, [this](const Late& late) {
    return static_cast<std::int64_t>(row_sequence(kept_[late.answer], late.row));
  });
  auto answer = connection.run(payloads, params, Effect::none);
  if (!answer.ok()) return answer.error();
  std::map<std::uint64_t, std::string_view> by_sequence;
  for (int row = 0; row < answer->size(); ++row) {
    by_sequence[answer->uint8(row, 0)] = answer->text(row, 1);
  }
  // From the last to the first, so that rows that were deleted meanwhile can be removed.
  for (auto late = late_.rbegin(); late != late_.rend(); ++late) {
    const auto& rows = kept_[late->answer];
    const auto payload = by_sequence.find(row_sequence(rows, late->row));
    if (payload != by_sequence.end()) {
      reply_.rows[late->place] =
          decode_row(rows, late->row, row_column, late->shard, payload->second);
    } else {
      reply_.rows.erase(reply_.rows.begin() + static_cast<std::ptrdiff_t>(late->place));
      --reply_.parts[late->part].rows;
    }
  }
  return {};
}

template void Pages::add(Rows, std::span<const spi::Range>);
template void Pages::add(Rows, std::span<const spi::DueRange>);

std::optional<spi::Horizon> horizon_of(const Rows& answer) {
  constexpr std::uint32_t counted_from = 3;
  const auto next = static_cast<std::uint32_t>(answer.int8(0, row_column)) + counted_from;
  return decode_horizon(answer.text(0, snapshot_column), next,
                        answer.text(0, row_column + RowColumns::id));
}

std::string_view shards_of(const Rows& answer) {
  return answer.text(0, row_column + RowColumns::topic);
}

}  // namespace sagabox::postgres
