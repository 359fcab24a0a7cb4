// SPDX-License-Identifier: Apache-2.0
#include "tools/report/text.hpp"

#include <algorithm>
#include <fstream>

#include "base/concat.hpp"

namespace aqua::sim {

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line = rest_.substr(0, end);
  rest_ = end == rest_.npos ? std::string_view{} : rest_.substr(end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++number_;
  return true;
}

Error line_error(std::string_view file, std::size_t line, std::string_view what) {
  return Error{Code::invalid_argument, concat(file, " line ", line, ": ", what)};
}

std::string shown(std::string_view text) {
  std::string out = "'";
  for (const char c : text.substr(0, 40)) out += c >= ' ' && c <= '~' ? c : '?';
  return out + (text.size() > 40 ? "...'" : "'");
}

void split_columns(std::string_view line, std::vector<std::string_view>& columns) {
  columns.clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    columns.push_back(line.substr(0, comma));
    if (comma == line.npos) return;
    line.remove_prefix(comma + 1);
  }
}

Result<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return Error{Code::not_found, concat("cannot open ", path.string())};
  const std::streamoff size = in.tellg();
  constexpr std::streamoff kLimit = std::streamoff{1} << 32;
  if (size < 0) return Error{Code::data_loss, concat("cannot read ", path.string())};
  if (size > kLimit) {
    return Error{Code::resource_exhausted, concat(path.string(), " is larger than 4 GiB")};
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  in.seekg(0);
  if (!in.read(text.data(), size)) {
    return Error{Code::data_loss, concat("cannot read ", path.string())};
  }
  return text;
}

}  // namespace aqua::sim
