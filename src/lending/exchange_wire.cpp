// SPDX-License-Identifier: Apache-2.0
#include "lending/exchange_wire.hpp"

#include <cassert>
#include <cstring>
#include <type_traits>

#include "base/concat.hpp"

#if defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
// GCC 12 under sanitizers takes a variant's other members for uninitialised when it is moved.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace aqua::lending {
namespace {

constexpr std::uint32_t kMagic = 0x31585141;
constexpr std::size_t kHeaderBytes = 8;
enum : std::uint16_t { kHello = 1, kFetch = 2, kGiveBack = 3, kReply = 4 };

class Writer {
 public:
  Writer(std::uint16_t type, std::size_t count) {
    assert(count >= 1 && count <= kMaxExchangeEntries);
    put(kMagic);
    put(type);
    put(static_cast<std::uint16_t>(count));
  }
  template <typename T>
  requires std::is_unsigned_v<T>
  void put(T value) {
    for (std::size_t i = 0; i < sizeof value; ++i)
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
  template <typename Tag>
  void put(const Id128<Tag>& id) {
    for (const std::uint8_t b : id.bytes) bytes_.push_back(std::byte{b});
  }
  [[nodiscard]] std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

// Reads within a length that decode() has checked.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  [[nodiscard]] T get() {
    T value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(bytes_[i]) << (8 * i)));
    }
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  template <typename Tag>
  [[nodiscard]] Id128<Tag> get_id() {
    Id128<Tag> id;
    std::memcpy(id.bytes.data(), bytes_.data(), id.bytes.size());
    bytes_ = bytes_.subspan(id.bytes.size());
    return id;
  }

 private:
  std::span<const std::byte> bytes_;
};

std::size_t entry_bytes(std::uint16_t type) {
  switch (type) {
    case kHello:
      return 16;
    case kFetch:
      return 32;
    case kGiveBack:
      return 16;
    case kReply:
      return 16;
    default:
      return 0;
  }
}

std::vector<std::byte> write(const Hello& hello) {
  Writer out(kHello, 1);
  out.put(hello.client);
  return std::move(out).take();
}
std::vector<std::byte> write(const Fetch& fetch) {
  Writer out(kFetch, fetch.entries.size());
  for (const FetchEntry& entry : fetch.entries) {
    out.put(entry.index);
    out.put(std::uint32_t{0});
    out.put(entry.generation);
    out.put(entry.secret);
  }
  return std::move(out).take();
}
std::vector<std::byte> write(const GiveBack& give_back) {
  Writer out(kGiveBack, give_back.entries.size());
  for (const GiveBackEntry& entry : give_back.entries) {
    out.put(entry.index);
    out.put(std::uint32_t{0});
    out.put(entry.generation);
  }
  return std::move(out).take();
}
std::vector<std::byte> write(const Reply& reply) {
  Writer out(kReply, reply.entries.size());
  for (const ReplyEntry& entry : reply.entries) {
    out.put(entry.code);
    out.put(std::uint32_t{0});
    out.put(entry.bytes);
  }
  return std::move(out).take();
}

}  // namespace

std::vector<std::byte> encode(const ExchangeMessage& message) {
  return std::visit([](const auto& body) { return write(body); }, message);
}

Result<ExchangeMessage> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) {
    return Error{Code::invalid_argument,
                 concat("exchange: message of ", bytes.size(), " bytes has no header")};
  }
  Reader in(bytes);
  const auto magic = in.get<std::uint32_t>();
  const auto type = in.get<std::uint16_t>();
  const auto count = in.get<std::uint16_t>();
  const std::size_t each = entry_bytes(type);
  if (magic != kMagic || each == 0) {
    return Error{Code::invalid_argument,
                 concat("exchange: magic ", magic, " and type ", type, " are not known")};
  }
  if (count < 1 || count > kMaxExchangeEntries || (type == kHello && count != 1) ||
      bytes.size() != kHeaderBytes + count * each) {
    return Error{Code::invalid_argument, concat("exchange: type ", type, " with ", count,
                                                " entries in ", bytes.size(), " bytes")};
  }
  if (type == kHello) return ExchangeMessage(Hello{in.get_id<ClientTag>()});
  Fetch fetch;
  GiveBack give_back;
  Reply reply;
  for (std::uint16_t i = 0; i < count; ++i) {
    const auto first = in.get<std::uint32_t>();
    const auto zero = in.get<std::uint32_t>();
    const auto second = in.get<std::uint64_t>();
    if (zero != 0)
      return Error{Code::invalid_argument, concat("exchange: entry ", i, " has reserved bits set")};
    if (type == kFetch) fetch.entries.push_back({first, second, in.get_id<LeaseTag>()});
    if (type == kGiveBack) give_back.entries.push_back({first, second});
    if (type == kReply) reply.entries.push_back({first, second});
  }
  if (type == kFetch) return ExchangeMessage(std::move(fetch));
  if (type == kGiveBack) return ExchangeMessage(std::move(give_back));
  return ExchangeMessage(std::move(reply));
}

}  // namespace aqua::lending
