// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/piece_reader.hpp"

#include <algorithm>
#include <array>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::sharing {
namespace {

template <typename Number, std::size_t N>
Number little_endian(const std::array<std::byte, N>& bytes) {
  static_assert(sizeof(Number) == N);
  Number number = 0;
  for (std::size_t i = N; i-- > 0;) {
    number = (number << 8) | std::to_integer<Number>(bytes[i]);
  }
  return number;
}

}  // namespace

Result<void> PieceReader::need(std::uint64_t bytes) const {
  if (bytes <= left()) return {};
  return Error{Code::invalid_argument, concat("model file: ends at byte ", end_, ", with ", bytes,
                                              " bytes expected at byte ", position_)};
}

Result<void> PieceReader::read(std::span<std::byte> to) {
  AQUA_TRY(need(to.size()));
  while (!to.empty()) {
    const bool held = position_ >= piece_start_ && position_ - piece_start_ < piece_.size();
    if (!held) {
      piece_.resize(std::min<std::uint64_t>(kPieceBytes, left()));
      piece_start_ = position_;
      Result<void> filled = source_.read(position_, piece_);
      if (!filled.ok()) {
        piece_.clear();
        return filled;
      }
    }
    const auto rest = std::span(piece_).subspan(position_ - piece_start_);
    const auto part = rest.first(std::min(rest.size(), to.size()));
    std::copy(part.begin(), part.end(), to.begin());
    to = to.subspan(part.size());
    position_ += part.size();
  }
  return {};
}

Result<std::uint32_t> PieceReader::u32() {
  std::array<std::byte, 4> bytes{};
  AQUA_TRY(read(bytes));
  return little_endian<std::uint32_t>(bytes);
}

Result<std::uint64_t> PieceReader::u64() {
  std::array<std::byte, 8> bytes{};
  AQUA_TRY(read(bytes));
  return little_endian<std::uint64_t>(bytes);
}

Result<std::string> PieceReader::text(std::uint64_t bytes) {
  AQUA_TRY(need(bytes));
  std::string text(bytes, '\0');
  AQUA_TRY(read(std::as_writable_bytes(std::span(text))));
  return text;
}

Result<void> PieceReader::skip(std::uint64_t bytes) {
  AQUA_TRY(need(bytes));
  position_ += bytes;
  return {};
}

}  // namespace aqua::sharing
