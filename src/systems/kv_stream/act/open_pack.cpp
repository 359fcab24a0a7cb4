// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/act/open_pack.hpp"

namespace aqua::kv_stream {
namespace {

constexpr std::size_t kAlignment = 64;  // of an entry's KV

std::size_t aligned(std::size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

std::uint64_t tokens_within(std::size_t all, std::size_t taken, std::uint64_t token_bytes) {
  return taken >= all ? 0 : (all - taken) / (token_bytes + sizeof(std::uint32_t));
}

}  // namespace

std::size_t OpenPack::next_offset() const {
  return aligned(kv_end_);
}

std::uint64_t OpenPack::room(const PackEntry& entry) const {
  if (pack_.entries.size() == kMostPackEntries) return 0;
  return tokens_within(segment_.bytes, next_offset() + directory_ + directory_bytes(entry),
                       pack_.token_bytes);
}

void OpenPack::add(PackEntry entry) {
  kv_end_ = entry.offset + entry.ids.size() * pack_.token_bytes;
  directory_ += directory_bytes(entry);
  pack_.entries.push_back(std::move(entry));
}

std::size_t OpenPack::close(std::uint64_t term) {
  pack_.term = term;
  return write_pack(pack_, kv_end_, {segment_.address, segment_.bytes});
}

std::uint64_t tokens_of_pack(const Pack& head, std::size_t pack_bytes) {
  PackEntry entry;
  entry.sampler.state.resize(kMostSamplerBytes);
  return tokens_within(pack_bytes, kPackHeadBytes + directory_bytes(head) + directory_bytes(entry),
                       head.token_bytes);
}

}  // namespace aqua::kv_stream
