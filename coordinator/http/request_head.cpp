// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/request_head.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::coordinator {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

bool is_token(std::string_view text) {  // RFC 9110, section 5.6.2
  constexpr std::string_view kSigns = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kSigns.find(c) != std::string_view::npos;
  });
}

bool is_visible(char c) {
  return c > ' ' && c < 0x7f;
}

// Text without control characters, of which a CR or LF would begin a line of its own.
bool is_field_text(char c) {
  return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::optional<Refusal> parse_request_line(std::string_view line, const HeadLimits& limits,
                                          RequestHead& out) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return refuse(400, "the first line is not METHOD TARGET HTTP/1.1");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) return refuse(400, "the method is not a word");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return version.starts_with("HTTP/") ? refuse(505, "HTTP/1.1 is spoken here")
                                        : refuse(400, "the first line has no HTTP version");
  }
  if (target.size() > limits.target)
    return refuse(414, concat("the target is longer than ", limits.target, " bytes"));
  if (!target.starts_with('/') || !std::ranges::all_of(target, is_visible) ||
      target.find('#') != std::string_view::npos) {
    return refuse(400, "the target is not a path with a query");
  }
  out.method = method;
  const std::size_t mark = target.find('?');
  out.path = target.substr(0, mark);
  if (mark != std::string_view::npos) out.query = target.substr(mark + 1);
  return std::nullopt;
}

std::optional<Refusal> parse_header(std::string_view line, RequestHead& out) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
    return refuse(400, "a header is not NAME: VALUE");
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!std::ranges::all_of(value, is_field_text))
    return refuse(400, concat("header ", line.substr(0, colon), " has a control character"));
  out.headers.emplace_back(lower(line.substr(0, colon)), value);
  return std::nullopt;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return out;
}

std::size_t RequestHead::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const auto& header) { return header.first == name; }));
}

std::string_view RequestHead::value(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view{} : found->second;
}

std::optional<std::string_view> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view field = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(field.size() + 1, query.size()));
    const std::size_t sign = field.find('=');
    if (field.substr(0, sign) != name) continue;
    return sign == std::string_view::npos ? std::string_view{} : field.substr(sign + 1);
  }
  return std::nullopt;
}

std::optional<std::size_t> end_of_head(std::string_view text, std::size_t from) {
  // A bare LF ends a line too: the head is then complete, and refused.
  for (std::size_t at = text.find('\n', from); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    const std::size_t next = at + 1;
    if (next < text.size() && text[next] == '\n') return next + 1;
    if (text.substr(next, 2) == kLineEnd) return next + 2;
    if (next == 1 || (next == 2 && text[0] == '\r')) return next;  // begins with an empty line
  }
  return std::nullopt;
}

std::optional<Refusal> parse_head(std::string_view text, const HeadLimits& limits,
                                  RequestHead& out) {
  if (text.size() > limits.bytes)
    return refuse(431, concat("the headers are longer than ", limits.bytes, " bytes"));
  bool first = true;
  while (true) {
    const std::size_t end = text.find(kLineEnd);
    if (end == std::string_view::npos) return refuse(400, "a line does not end in CR LF");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + kLineEnd.size());
    if (line.empty() && !first) break;
    if (!first && out.headers.size() == limits.headers)
      return refuse(431, concat("more than ", limits.headers, " headers"));
    if (auto refusal = first ? parse_request_line(line, limits, out) : parse_header(line, out))
      return refusal;
    first = false;
  }
  return std::nullopt;
}

}  // namespace aqua::coordinator
