#include "bench/baselines/postgres/link.hpp"

#include <cstdlib>
#include <stdexcept>

namespace sagabox::bench::by_hand {
namespace {

constexpr std::uint32_t oid_bytea = 17;
constexpr std::uint32_t oid_int8 = 20;
constexpr std::uint32_t oid_int2 = 21;
constexpr std::uint32_t oid_text = 25;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
  }
}

std::string array_head(std::uint32_t element, std::size_t count, bool nulls) {
  std::string out;
  put(out, count == 0 ? 0 : 1, 4);
  put(out, nulls ? 1 : 0, 4);
  put(out, element, 4);
  if (count == 0) return out;
  put(out, count, 4);
  put(out, 1, 4);
  return out;
}

std::string strings(std::uint32_t element, const std::vector<std::string>& values, bool nulls) {
  auto out = array_head(element, values.size(), nulls);
  for (const auto& value : values) {
    if (nulls && value.empty()) {
      put(out, 0xFFFFFFFF, 4);
      continue;
    }
    put(out, value.size(), 4);
    out += value;
  }
  return out;
}

std::uint64_t number(const PGresult* answer, int row, int column, int bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(PQgetvalue(answer, row, column));
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | at[i];
  return value;
}

}  // namespace

Values& Values::int8(std::int64_t value) {
  std::string out;
  put(out, static_cast<std::uint64_t>(value), 8);
  add(std::move(out));
  return *this;
}

Values& Values::text(std::string_view value) {
  add(std::string(value));
  return *this;
}

Values& Values::int2s(const std::vector<std::int16_t>& values) {
  auto out = array_head(oid_int2, values.size(), false);
  for (const auto value : values) {
    put(out, 2, 4);
    put(out, static_cast<std::uint16_t>(value), 2);
  }
  add(std::move(out));
  return *this;
}

Values& Values::int8s(const std::vector<std::int64_t>& values) {
  auto out = array_head(oid_int8, values.size(), false);
  for (const auto value : values) {
    put(out, 8, 4);
    put(out, static_cast<std::uint64_t>(value), 8);
  }
  add(std::move(out));
  return *this;
}

Values& Values::texts(const std::vector<std::string>& values) {
  add(strings(oid_text, values, false));
  return *this;
}

Values& Values::nullable_texts(const std::vector<std::string>& values) {
  add(strings(oid_text, values, true));
  return *this;
}

Values& Values::byteas(const std::vector<std::string>& values) {
  add(strings(oid_bytea, values, false));
  return *this;
}

Values& Values::null() {
  bytes_.emplace_back();
  nulls_.push_back(true);
  return *this;
}

std::int64_t int8_of(const PGresult* answer, int row, int column) {
  return static_cast<std::int64_t>(number(answer, row, column, 8));
}

std::int16_t int2_of(const PGresult* answer, int row, int column) {
  return static_cast<std::int16_t>(number(answer, row, column, 2));
}

std::int64_t rows_changed(PGresult* answer) { return std::atoll(PQcmdTuples(answer)); }

Link::Link(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  PQsetNoticeReceiver(connection_.get(), [](void*, const PGresult*) {}, nullptr);
}

Answer Link::checked(PGresult* result) {
  Answer answer(result);
  const auto status = PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
  return answer;
}

std::string Link::sql(const std::string& text) {
  const auto answer = checked(PQexec(connection_.get(), text.c_str()));
  return PQntuples(answer.get()) > 0 ? PQgetvalue(answer.get(), 0, 0) : "";
}

void Link::prepare(const std::string& name, const std::string& text) {
  checked(PQprepare(connection_.get(), name.c_str(), text.c_str(), 0, nullptr));
}

void Link::submit(const std::string& name, const Values& values) {
  const auto count = values.bytes().size();
  std::vector<const char*> pointers(count);
  std::vector<int> lengths(count);
  const std::vector<int> formats(count, 1);
  for (std::size_t at = 0; at < count; ++at) {
    pointers[at] = values.is_null(at) ? nullptr : values.bytes()[at].data();
    lengths[at] = static_cast<int>(values.bytes()[at].size());
  }
  if (PQsendQueryPrepared(connection_.get(), name.c_str(), static_cast<int>(count), pointers.data(),
                          lengths.data(), formats.data(), 1) != 1) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
}

Answer Link::call(const std::string& name, const Values& values) {
  submit(name, values);
  auto answer = checked(PQgetResult(connection_.get()));
  while (PGresult* rest = PQgetResult(connection_.get())) PQclear(rest);
  return answer;
}

void Link::begin_pipeline() { PQenterPipelineMode(connection_.get()); }

void Link::send(const std::string& name, const Values& values) {
  submit(name, values);
  if (PQpipelineSync(connection_.get()) != 1) {
    throw std::runtime_error(PQerrorMessage(connection_.get()));
  }
}

Answer Link::receive() {
  auto answer = checked(PQgetResult(connection_.get()));
  while (PGresult* rest = PQgetResult(connection_.get())) PQclear(rest);
  PQclear(PQgetResult(connection_.get()));  // of the sync
  return answer;
}

}  // namespace sagabox::bench::by_hand
