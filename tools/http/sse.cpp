// SPDX-License-Identifier: Apache-2.0
#include "tools/http/sse.hpp"

#include "base/concat.hpp"

namespace aqua::http {

Result<void> SseReader::feed(std::string_view bytes,
                             const std::function<void(std::string_view)>& event) {
  while (!bytes.empty() && !overflowed_) {
    const std::size_t end = bytes.find('\n');
    line_ += bytes.substr(0, end);
    overflowed_ = line_.size() + data_.size() > kMaxEvent;
    if (end == bytes.npos) break;
    bytes.remove_prefix(end + 1);
    if (line_.ends_with('\r')) line_.pop_back();
    if (!overflowed_) line(line_, event);
    line_.clear();
  }
  if (!overflowed_) return {};
  return Error{Code::resource_exhausted, concat("an event of more than ", kMaxEvent, " bytes")};
}

void SseReader::line(std::string_view text, const std::function<void(std::string_view)>& event) {
  if (text.empty()) {
    if (any_) event(data_);
    data_.clear();
    any_ = false;
    return;
  }
  constexpr std::string_view kData = "data:";
  if (!text.starts_with(kData)) return;
  text.remove_prefix(kData.size());
  if (text.starts_with(' ')) text.remove_prefix(1);
  if (any_) data_ += '\n';
  data_ += text;
  any_ = true;
}

}  // namespace aqua::http
