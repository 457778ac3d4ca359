#pragma once

#include "stores/schema_steps.hpp"

#include <span>

namespace sagabox::sqlite {

using schema::Engine;
using schema::Migration;

/// The engines of a file. {table} and fragments are filled into their SQL.
std::span<const Engine> engines();

}  // namespace sagabox::sqlite
