// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/file_tensor_checks.hpp"
#include "systems/sharing/decide/ggml_types.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"
#include "systems/sharing/decide/piece_reader.hpp"

namespace aqua::sharing {
namespace {

constexpr std::uint32_t kMostGgufAxes = 4;
constexpr std::uint32_t kDefaultAlignment = 32;
constexpr std::string_view kAlignmentKey = "general.alignment";

// Types of metadata. The bytes of a value are 0 for texts and arrays, which say their own length.
constexpr std::uint32_t kGgufU32 = 4, kGgufText = 8, kGgufArray = 9;
constexpr std::array<std::uint8_t, 13> kGgufValueBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

// What the shortest entry and the shortest tensor take in a header. A count that does not fit into
// the file at this size is refused before anything is read.
constexpr std::uint64_t kLeastEntryBytes = 8 + 4 + 1;
constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;

template <typename... What>
Error bad_gguf(const What&... what) {
  return Error{Code::invalid_argument, concat("gguf: ", what...)};
}

class GgufHeader {
 public:
  GgufHeader(ByteSource& source, std::uint32_t file) : reader_(source), file_(file) {}

  [[nodiscard]] Result<std::vector<FileTensor>> read() {
    AQUA_TRY(read_version());
    AQUA_ASSIGN(const std::uint64_t count, reader_.u64());
    AQUA_ASSIGN(const std::uint64_t entries, reader_.u64());
    if (entries > reader_.left() / kLeastEntryBytes) {
      return bad_gguf(entries, " entries of metadata do not fit into the file");
    }
    for (std::uint64_t i = 0; i < entries; ++i) AQUA_TRY(read_entry());
    if (count > reader_.left() / kLeastTensorBytes || count > kMostTensors) {
      return bad_gguf(count, " tensors do not fit into the file, or are more than ", kMostTensors);
    }
    std::vector<FileTensor> tensors;
    for (std::uint64_t i = 0; i < count; ++i) {
      AQUA_ASSIGN(FileTensor tensor, read_tensor());
      tensors.push_back(std::move(tensor));
    }
    AQUA_TRY(place(tensors));
    AQUA_TRY(check_and_sort("gguf", reader_.file_bytes(), tensors));
    return tensors;
  }

 private:
  [[nodiscard]] Result<void> read_version() {
    AQUA_TRY(reader_.skip(4));  // "GGUF"
    AQUA_ASSIGN(const std::uint32_t version, reader_.u32());
    if (version == 2 || version == 3) return {};
    if ((version & 0xffff) == 0 && version != 0) {
      return Error{Code::unimplemented, "gguf: the file is big endian; only little endian is read"};
    }
    return Error{Code::unimplemented,
                 concat("gguf: the file is of version ", version, "; versions 2 and 3 are read")};
  }

  [[nodiscard]] Result<void> read_entry() {
    AQUA_ASSIGN(const std::uint64_t length, reader_.u64());
    std::string key;  // of other lengths than the one key that matters: none
    if (length == kAlignmentKey.size()) {
      AQUA_ASSIGN(key, reader_.text(length));
    } else {
      AQUA_TRY(reader_.skip(length));
    }
    AQUA_ASSIGN(const std::uint32_t type, reader_.u32());
    return key == kAlignmentKey ? read_alignment(type) : skip_value(type);
  }

  [[nodiscard]] Result<void> read_alignment(std::uint32_t type) {
    if (alignment_) return bad_gguf(kAlignmentKey, " is there twice");
    if (type != kGgufU32) return bad_gguf(kAlignmentKey, " is of type ", type, ", not a uint32");
    AQUA_ASSIGN(alignment_, reader_.u32());
    if (!std::has_single_bit(*alignment_)) {
      return bad_gguf(kAlignmentKey, " is ", *alignment_, ", which is no power of two");
    }
    return {};
  }

  [[nodiscard]] Result<void> skip_value(std::uint32_t type) {
    if (type >= kGgufValueBytes.size()) return bad_gguf("metadata of the unknown type ", type);
    if (type == kGgufText) return skip_text();
    if (type == kGgufArray) return skip_array();
    return reader_.skip(kGgufValueBytes[type]);
  }

  [[nodiscard]] Result<void> skip_text() {
    AQUA_ASSIGN(const std::uint64_t length, reader_.u64());
    return reader_.skip(length);
  }

  [[nodiscard]] Result<void> skip_array() {
    AQUA_ASSIGN(const std::uint32_t type, reader_.u32());
    AQUA_ASSIGN(const std::uint64_t count, reader_.u64());
    if (type == kGgufArray) return Error{Code::unimplemented, "gguf: metadata has nested arrays"};
    if (type >= kGgufValueBytes.size()) return bad_gguf("metadata of the unknown type ", type);
    const std::uint64_t least = type == kGgufText ? 8 : kGgufValueBytes[type];
    if (count > reader_.left() / least) {
      return bad_gguf("an array of ", count, " values does not fit into the file");
    }
    if (type != kGgufText) return reader_.skip(count * least);
    for (std::uint64_t i = 0; i < count; ++i) AQUA_TRY(skip_text());
    return {};
  }

  // Its offset still counts from the beginning of the data.
  [[nodiscard]] Result<FileTensor> read_tensor() {
    FileTensor tensor{.file = file_};
    AQUA_ASSIGN(const std::uint64_t length, reader_.u64());
    if (length > kLongestTensor) {
      return bad_gguf("a tensor's name is of ", length, " bytes, longer than ", kLongestTensor);
    }
    AQUA_ASSIGN(tensor.name, reader_.text(length));
    AQUA_ASSIGN(const std::uint32_t axes, reader_.u32());
    if (axes > kMostGgufAxes) {
      return bad_gguf(shown(tensor.name), ": has ", axes, " axes, more than ", kMostGgufAxes);
    }
    tensor.shape.resize(axes);
    for (std::uint32_t axis = axes; axis-- > 0;) {
      AQUA_ASSIGN(tensor.shape[axis], reader_.u64());
    }
    AQUA_ASSIGN(const std::uint32_t number, reader_.u32());
    AQUA_ASSIGN(tensor.offset, reader_.u64());
    const auto type = ggml_type(number);
    if (!type) {
      return Error{Code::unimplemented, concat("gguf: ", shown(tensor.name), ": is of ggml type ",
                                               number, ", which is not known here")};
    }
    tensor.type = *type;
    const std::string where = concat("gguf: ", shown(tensor.name));
    AQUA_ASSIGN(tensor.bytes, dense_bytes(where, tensor.type, tensor.shape));
    return tensor;
  }

  // Makes offsets count from the beginning of the file.
  [[nodiscard]] Result<void> place(std::vector<FileTensor>& tensors) const {
    const std::uint64_t alignment = alignment_.value_or(kDefaultAlignment);
    const std::uint64_t padding = (alignment - reader_.position() % alignment) % alignment;
    for (FileTensor& tensor : tensors) {
      if (tensor.offset % alignment != 0) {
        return bad_gguf(shown(tensor.name), ": its offset ", tensor.offset,
                        " is no multiple of the alignment ", alignment);
      }
      std::uint64_t start = 0;
      if (__builtin_add_overflow(reader_.position(), padding, &start) ||
          __builtin_add_overflow(start, tensor.offset, &tensor.offset)) {
        return bad_gguf(shown(tensor.name), ": its offset is beyond any file");
      }
    }
    return {};
  }

  PieceReader reader_;
  const std::uint32_t file_;
  std::optional<std::uint32_t> alignment_;
};

}  // namespace

Result<std::vector<FileTensor>> read_gguf(ByteSource& source, std::uint32_t file) {
  return GgufHeader(source, file).read();
}

}  // namespace aqua::sharing
