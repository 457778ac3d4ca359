#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace sagabox::delivery {

/// An object of texts, in this order.
std::string json_object(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);

}  // namespace sagabox::delivery
