#include "server/http/response_text.hpp"

namespace sagabox::server {
namespace {

std::string_view reason(unsigned status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 207:
      return "Multi-Status";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 422:
      return "Unprocessable Content";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "";  // allowed by HTTP; clients ignore it
  }
}

}  // namespace

std::string response_head(const Response& response, bool keep_alive) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(reason(response.status)).append("\r\n");
  const auto field = [&](std::string_view name, std::string_view value) {
    head.append(name).append(": ").append(value).append("\r\n");
  };
  field("Content-Type", response.content_type);
  field("Cache-Control", "no-store");
  field("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) field(name, value);
  field("Content-Length", std::to_string(response.body.size()));
  field("Connection", keep_alive ? "keep-alive" : "close");
  return head.append("\r\n");
}

}  // namespace sagabox::server
