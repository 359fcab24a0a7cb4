// SPDX-License-Identifier: Apache-2.0
// A log of a few blobs, in which any bytes are written over: it is opened or refused, and whatever
// it gives is what was put. Edits are of 4 bytes: file, place (2), byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "tests/tools/keeper/memory_directory.hpp"
#include "tools/keeper/disk/blob_log.hpp"

namespace {

using aqua::keeper::test::Bytes;

constexpr aqua::keeper::BlobLogOptions kOptions{.most_bytes = 4096, .file_bytes = 512};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  aqua::keeper::test::MemoryDisk disk;
  const auto open = [&] {
    return aqua::keeper::BlobLog::open(std::make_unique<aqua::keeper::test::MemoryDirectory>(disk),
                                       kOptions);
  };
  std::map<std::string, std::vector<Bytes>> put;
  {
    auto log = open();
    for (int i = 0; i < 8; ++i) {
      const std::string name(1, static_cast<char>('a' + i % 5));
      put[name].emplace_back(static_cast<std::size_t>(40 * i), static_cast<std::byte>(i));
      if (!log->put(name, put[name].back()).ok() || (i % 2 == 0 && !log->sync().ok())) std::abort();
    }
  }
  for (auto& [file, state] : disk.files) state = {.durable = disk.now(file), .pending = {}};
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    auto file = disk.files.begin();
    std::advance(file, data[i] % disk.files.size());
    Bytes& bytes = file->second.durable;
    bytes[(data[i + 1] * 256U + data[i + 2]) % bytes.size()] = std::byte{data[i + 3]};
  }
  auto log = open();
  if (!log.ok()) return 0;
  for (const std::string& name : log->names()) {
    const auto bytes = log->read(name);
    if (!put.contains(name)) std::abort();
    if (bytes.ok() && std::ranges::find(put[name], *bytes) == put[name].end()) std::abort();
  }
  if (!log->put("a", Bytes(100)).ok() || !log->sync().ok() || !open().ok()) std::abort();
  return 0;
}
