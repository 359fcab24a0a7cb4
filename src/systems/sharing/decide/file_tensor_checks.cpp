// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/file_tensor_checks.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "base/concat.hpp"
#include "base/text/plain_name.hpp"
#include "base/try.hpp"
#include "systems/sharing/decide/manifest_limits.hpp"

namespace aqua::sharing {
namespace {

constexpr std::size_t kLongestShown = 64;

Result<void> check_file_name(std::string_view format, std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return Error{Code::invalid_argument, concat(format, ": ", what)};
  };
  if (name.empty()) return wrong("a tensor's name is empty");
  if (!is_plain(name)) {
    return wrong(concat("the name ", shown(name), " has characters that are not printable ASCII"));
  }
  if (name.size() > kLongestTensor) {
    return wrong(concat("the name ", shown(name), " is longer than ", kLongestTensor, " bytes"));
  }
  return {};
}

// A tensor without bytes may be anywhere.
Result<void> check_file_bytes(std::string_view format, std::uint64_t file_bytes,
                              const std::vector<FileTensor>& sorted) {
  const FileTensor* before = nullptr;
  for (const FileTensor& tensor : sorted) {
    if (tensor.bytes == 0) continue;
    if (tensor.offset > file_bytes || tensor.bytes > file_bytes - tensor.offset) {
      return Error{Code::invalid_argument,
                   concat(format, ": ", shown(tensor.name), ": bytes ", tensor.offset, " to ",
                          tensor.offset, " + ", tensor.bytes, " of a file of ", file_bytes)};
    }
    if (before != nullptr && before->offset + before->bytes > tensor.offset) {
      return Error{Code::invalid_argument, concat(format, ": ", shown(tensor.name),
                                                  ": has bytes of ", shown(before->name))};
    }
    before = &tensor;
  }
  return {};
}

}  // namespace

std::string shown(std::string_view name) {
  std::string text(name.substr(0, kLongestShown));
  for (char& c : text) {
    if (!is_plain({&c, 1})) c = '?';
  }
  if (name.size() > kLongestShown) text += "...";
  return text;
}

Result<std::uint64_t> dense_bytes(std::string_view where, const ElementType& type,
                                  const std::vector<std::uint64_t>& shape) {
  const std::uint64_t in_a_row = shape.empty() ? 1 : shape.back();
  if (type.elements == 0 || in_a_row % type.elements != 0) {
    return Error{Code::invalid_argument,
                 concat(where, ": its shape does not fill whole blocks of ", type.name)};
  }
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return std::uint64_t{0};
  std::uint64_t bytes = type.bytes;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool last = axis + 1 == shape.size();
    const std::uint64_t steps = last ? shape[axis] / type.elements : shape[axis];
    if (__builtin_mul_overflow(bytes, steps, &bytes)) {
      return Error{Code::invalid_argument,
                   concat(where, ": its shape takes more bytes than any file has")};
    }
  }
  return bytes;
}

Result<void> check_and_sort(std::string_view format, std::uint64_t file_bytes,
                            std::vector<FileTensor>& tensors) {
  std::unordered_set<std::string_view> names;
  for (const FileTensor& tensor : tensors) {
    AQUA_TRY(check_file_name(format, tensor.name));
    if (!names.insert(tensor.name).second) {
      return Error{Code::invalid_argument,
                   concat(format, ": ", shown(tensor.name), " is there twice")};
    }
  }
  names.clear();  // sorting moves the names
  std::sort(tensors.begin(), tensors.end(), [](const FileTensor& a, const FileTensor& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
  return check_file_bytes(format, file_bytes, tensors);
}

}  // namespace aqua::sharing
