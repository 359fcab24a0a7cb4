// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/admission.hpp"

#include <charconv>
#include <string>
#include <string_view>

#include "base/concat.hpp"

namespace aqua::coordinator {
namespace {

Refusal refuse(int status, std::string message) {
  return {status, Error{Code::invalid_argument, std::move(message)}};
}

bool is_json(std::string_view content_type) {
  return content_type == "application/json" || content_type.starts_with("application/json;");
}

}  // namespace

std::optional<Refusal> refusal_of(const RequestHead& head, std::size_t max_body,
                                  std::size_t& length) {
  length = 0;
  if (head.count("transfer-encoding") > 0)
    return refuse(411, "Transfer-Encoding is not accepted; send Content-Length");
  if (head.count("content-encoding") > 0) return refuse(415, "Content-Encoding is not accepted");
  if (head.count("range") > 0) return refuse(400, "Range is not accepted");
  for (const char* once : {"content-length", "authorization", "aqua-session", "idempotency-key"}) {
    if (head.count(once) > 1) return refuse(400, concat(once, " is given twice"));
  }
  if (head.count("content-length") == 0) {
    if (head.method == "POST" || head.method == "PUT")
      return refuse(411, "Content-Length is missing");
    return std::nullopt;
  }
  const std::string_view text = head.value("content-length");
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (text.empty() || end != text.data() + text.size() || fault == std::errc::invalid_argument)
    return refuse(400, "Content-Length is not a number");
  if (fault == std::errc::result_out_of_range || length > max_body)
    return refuse(413, concat("the body is longer than ", max_body, " bytes"));
  // Also keeps web pages out: they cannot send this type to another origin unasked.
  if (length > 0 && !is_json(head.value("content-type")))
    return refuse(415, "Content-Type must be application/json");
  return std::nullopt;
}

}  // namespace aqua::coordinator
