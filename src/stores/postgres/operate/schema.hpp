#pragma once

#include "stores/schema_steps.hpp"

#include <span>

namespace sagabox::postgres {

using schema::Engine;
using schema::Migration;

/// The engines of a schema. {schema}, {table}, {shards} and {shard_of} are filled into their SQL.
std::span<const Engine> engines();

}  // namespace sagabox::postgres
