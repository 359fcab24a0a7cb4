// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/replica/pack.hpp"

#include <bit>
#include <cstring>
#include <string_view>

#include "base/fnv1a.hpp"
#include "base/try.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"

namespace aqua::kv_stream {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are copied as they lie");

constexpr std::string_view kMagic = "AQUAPCK2";
constexpr std::size_t kHashed = kMagic.size() + 3 * sizeof(std::uint64_t);  // the head's bytes
static_assert(kHashed <= kPackHeadBytes);
// Bytes of what has a fixed length, in a pack and in each of its entries.
constexpr std::size_t kFixedBytes = 4 + 4 + 8 + 8 + 2 + 2 + 2 + 4;
constexpr std::size_t kFixedEntryBytes = 8 + 4 + 4 + 8 + 8 + 4 + 8 + 4;

class Writer {
 public:
  explicit Writer(std::span<std::byte> into) : into_(into) {}
  template <typename Number>
  void number(Number value) {
    bytes(&value, sizeof value);
  }
  void bytes(const void* from, std::size_t count) {
    if (count != 0) std::memcpy(into_.subspan(at_, count).data(), from, count);
    at_ += count;
  }
  // Behind its length.
  void text(std::string_view value) {
    number(static_cast<std::uint16_t>(value.size()));
    bytes(value.data(), value.size());
  }
  [[nodiscard]] std::size_t at() const { return at_; }

 private:
  std::span<std::byte> into_;
  std::size_t at_ = 0;
};

// What is asked beyond the end is zero, and good() false from then on.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> from) : from_(from) {}
  template <typename Number>
  [[nodiscard]] Number number() {
    Number value{};
    const auto found = bytes(sizeof value);
    if (good_) std::memcpy(&value, found.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::span<const std::byte> bytes(std::size_t count) {
    good_ = good_ && count <= from_.size();
    if (!good_) return {};
    const auto found = from_.first(count);
    from_ = from_.subspan(count);
    return found;
  }
  [[nodiscard]] std::string text(std::size_t count) {
    const auto found = bytes(count);
    return {reinterpret_cast<const char*>(found.data()), found.size()};
  }
  // Behind its length.
  [[nodiscard]] std::string text() { return text(number<std::uint16_t>()); }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return good_ && from_.empty(); }

 private:
  std::span<const std::byte> from_;
  bool good_ = true;
};

PackEntry read_entry(Reader& reader) {
  PackEntry entry{.sequence = reader.number<std::uint64_t>()};
  entry.first = reader.number<std::uint32_t>();
  const auto count = reader.number<std::uint32_t>();
  entry.offset = reader.number<std::uint64_t>();
  entry.before = reader.number<std::uint64_t>();
  entry.sampler.tokens = reader.number<std::uint32_t>();
  entry.sampler_ids = reader.number<std::uint64_t>();
  const auto sampler = reader.number<std::uint32_t>();
  const auto ids = reader.bytes(std::size_t{count} * sizeof(std::uint32_t));
  if (!ids.empty()) {
    entry.ids.resize(count);
    std::memcpy(entry.ids.data(), ids.data(), ids.size());
  }
  const auto state = reader.bytes(sampler);
  entry.sampler.state.assign(state.begin(), state.end());
  return entry;
}

// Whether its KV lies between the head and the directory.
bool can_be(const PackEntry& entry, std::uint64_t token_bytes, std::uint64_t kv_end) {
  if (entry.ids.empty() || entry.ids.size() > UINT32_MAX - entry.first) return false;
  if (entry.sampler.state.size() > kMostSamplerBytes) return false;
  if (entry.offset < kPackHeadBytes || entry.offset > kv_end) return false;
  return entry.ids.size() <= (kv_end - entry.offset) / token_bytes;
}

}  // namespace

Result<void> check_owner(const ReplicaOwner& owner) {
  AQUA_TRY(check_group(owner.group));
  if (!owner.life.empty()) AQUA_TRY(check_group(owner.life));
  return {};
}

std::size_t directory_bytes(const PackEntry& entry) {
  return kFixedEntryBytes + entry.ids.size() * sizeof(std::uint32_t) + entry.sampler.state.size();
}

std::size_t directory_bytes(const Pack& pack) {
  return kFixedBytes + pack.owner.group.size() + pack.owner.life.size() + pack.shape.size();
}

std::size_t write_pack(const Pack& pack, std::size_t kv_end, std::span<std::byte> segment) {
  Writer directory(segment.subspan(kv_end));
  directory.number(pack.owner.stage);
  directory.number(pack.owner.rank);
  directory.number(pack.term);
  directory.number(pack.token_bytes);
  directory.text(pack.owner.group);
  directory.text(pack.owner.life);
  directory.text(pack.shape);
  directory.number(static_cast<std::uint32_t>(pack.entries.size()));
  for (const PackEntry& entry : pack.entries) {
    directory.number(entry.sequence);
    directory.number(entry.first);
    directory.number(static_cast<std::uint32_t>(entry.ids.size()));
    directory.number(entry.offset);
    directory.number(entry.before);
    directory.number(entry.sampler.tokens);
    directory.number(entry.sampler_ids);
    directory.number(static_cast<std::uint32_t>(entry.sampler.state.size()));
    directory.bytes(entry.ids.data(), entry.ids.size() * sizeof(std::uint32_t));
    directory.bytes(entry.sampler.state.data(), entry.sampler.state.size());
  }
  Writer head(segment);
  head.bytes(kMagic.data(), kMagic.size());
  head.number(std::uint64_t{kv_end});
  head.number(std::uint64_t{directory.at()});
  head.number(fnv1a(segment.subspan(kv_end, directory.at())));
  return kv_end + directory.at();
}

Result<Pack> parse_pack(std::span<const std::byte> segment) {
  const Error wrong{Code::invalid_argument, "the segment has no pack of replicas that can be"};
  Reader head(segment);
  if (head.text(kMagic.size()) != kMagic) return wrong;
  const auto kv_end = head.number<std::uint64_t>();
  const auto bytes = head.number<std::uint64_t>();
  const auto hash = head.number<std::uint64_t>();
  if (!head.good() || kv_end < kPackHeadBytes || kv_end > segment.size() ||
      bytes != segment.size() - kv_end || fnv1a(segment.subspan(kv_end)) != hash)
    return wrong;
  Reader directory(segment.subspan(kv_end));
  Pack pack;
  pack.owner.stage = directory.number<std::uint32_t>();
  pack.owner.rank = directory.number<std::uint32_t>();
  pack.term = directory.number<std::uint64_t>();
  pack.token_bytes = directory.number<std::uint64_t>();
  pack.owner.group = directory.text();
  pack.owner.life = directory.text();
  pack.shape = directory.text();
  const auto entries = directory.number<std::uint32_t>();
  if (!directory.good() || pack.token_bytes == 0 || pack.shape.size() > kMostShapeBytes ||
      entries > kMostPackEntries)
    return wrong;
  AQUA_TRY(check_owner(pack.owner));
  for (std::uint32_t i = 0; i < entries; ++i) {
    PackEntry& entry = pack.entries.emplace_back(read_entry(directory));
    if (!directory.good() || !can_be(entry, pack.token_bytes, kv_end)) return wrong;
  }
  if (!directory.at_end()) return wrong;
  return pack;
}

}  // namespace aqua::kv_stream
