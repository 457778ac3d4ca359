#pragma once

#include "stores/sql/statement.hpp"

#include <span>

namespace sagabox::sqlite {

/// The files in `sql/`, built in by cmake/embed_sql.cmake.
extern const std::span<const sql::File> sql_files;

}  // namespace sagabox::sqlite
