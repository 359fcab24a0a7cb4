// SPDX-License-Identifier: Apache-2.0
// Any bytes as the note of a streamed parcel: never a crash, and what is accepted is written just
// as it was read.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "systems/kv_stream/decide/stream/note.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace aqua::kv_stream;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto note = parse_note(text);
  if (note.ok() && (write_note(*note) != text || !check_group(note->from.group).ok())) std::abort();
  return 0;
}
