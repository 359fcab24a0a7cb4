#include "coordinator/admission.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "wire/limits.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::size_t kMaxTarget = 512;

Refusal refuse(int status, std::string message) {
  return Refusal{status, Error{Code::invalid_argument, std::move(message)}};
}

bool is_json(std::string_view content_type) {
  return content_type == "application/json" || content_type.starts_with("application/json;");
}

}  // namespace

std::optional<Refusal> refusal_of(const httplib::Request& request) {
  // Routes are regular expressions, which recurse over the text.
  if (request.target.size() > kMaxTarget)
    return refuse(414, concat("the target is longer than ", kMaxTarget, " bytes"));
  // A chunked body is not counted by the library, a compressed one grows after counting.
  if (request.has_header("Transfer-Encoding"))
    return refuse(411, "Transfer-Encoding is not accepted; send Content-Length");
  if (request.has_header("Content-Encoding"))
    return refuse(415, "Content-Encoding is not accepted");
  if (request.has_header("Range")) return refuse(400, "Range is not accepted");
  if (request.get_header_value_count("Content-Length") > 1)
    return refuse(400, "Content-Length is given twice");
  if (!request.has_header("Content-Length")) {
    if (request.method == "POST" || request.method == "PUT")
      return refuse(411, "Content-Length is missing");
    return std::nullopt;
  }
  const std::string text = request.get_header_value("Content-Length");
  std::size_t length = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || fault != std::errc{} || end != text.data() + text.size()) {
    return refuse(400, "Content-Length is not a number");
  }
  if (length > wire::kMaxRequestBytes) {
    return refuse(413, concat("the body has ", length, " bytes, at most ", wire::kMaxRequestBytes));
  }
  // Also keeps web pages out: they cannot send this type to another origin unasked.
  if (length > 0 && !is_json(request.get_header_value("Content-Type"))) {
    return refuse(415, "Content-Type must be application/json");
  }
  return std::nullopt;
}

}  // namespace aqua::coordinator
