#pragma once

#include <string>
#include <string_view>

namespace sagabox::cli {

/// Says what to do about a store or broker that cannot be reached, by its error. An error that
/// names several servers may have several causes: all of them are answered.
std::string connect_cure(std::string_view error);

}  // namespace sagabox::cli
