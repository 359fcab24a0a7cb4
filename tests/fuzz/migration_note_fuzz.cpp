// SPDX-License-Identifier: Apache-2.0
// Any bytes as the note of a move: refused with one of three codes or read, and what is read is
// written as the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "aqua/migration/note.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::migration;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto note = decode(bytes, "m");
  if (!note.ok()) {
    const aqua::Code code = note.error().code;
    if (code != aqua::Code::invalid_argument && code != aqua::Code::unimplemented &&
        code != aqua::Code::failed_precondition) {
      std::abort();
    }
    return 0;
  }
  if (!check(*note).ok()) std::abort();
  const auto again = encode(*note);
  if (!again.ok() || *again != bytes) std::abort();
  return 0;
}
