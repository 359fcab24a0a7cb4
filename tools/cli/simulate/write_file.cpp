// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/simulate/write_file.hpp"

#include <fstream>

#include "base/concat.hpp"

namespace aqua::tool {

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.flush();
  if (!out) return Error{Code::permission_denied, concat("cannot write ", path)};
  return {};
}

}  // namespace aqua::tool
