// SPDX-License-Identifier: Apache-2.0
#include "state_view.hpp"

#include <cstdint>
#include <cstring>
#include <string>

#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;

namespace {

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <typename T>
  T take() {
    T value{};
    std::memcpy(&value, skip(sizeof value), sizeof value);
    return value;
  }
  const std::byte* skip(std::size_t count) {
    if (count > bytes_.size() - at_) throw Failure("llama.cpp's state ends too soon");
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

std::vector<StatePlane> planes(Reader& reader, std::size_t layers, std::size_t tokens) {
  std::vector<StatePlane> found;
  for (std::size_t i = 0; i < layers; ++i) {
    (void)reader.take<std::int32_t>();
    const auto row = reader.take<std::uint64_t>();
    if (row == 0 || row > reader.left() / tokens)
      throw Failure("llama.cpp's state: a row of " + std::to_string(row) + " bytes");
    found.push_back({reader.at(), row});
    (void)reader.skip(row * tokens);
  }
  return found;
}

}  // namespace

StateView StateView::of(std::span<const std::byte> state) {
  Reader reader(state);
  (void)reader.take<std::uint32_t>();
  (void)reader.take<std::int32_t>();
  StateView view;
  const auto streams = reader.take<std::uint32_t>();
  for (std::uint32_t s = 0; s < streams; ++s) {
    const auto cells = reader.take<std::uint32_t>();
    if (cells == 0) continue;
    if (view.tokens != 0) throw Failure("llama.cpp's state: a sequence in two streams");
    view.tokens = cells;
    for (std::uint32_t i = 0; i < cells; ++i) {
      (void)reader.take<std::int32_t>();
      const auto sequences = reader.take<std::uint32_t>();
      if (sequences != 1) throw Failure("llama.cpp's state: a cell of several sequences");
      (void)reader.take<std::int32_t>();
    }
    if (reader.take<std::uint32_t>() != 0) throw Failure("llama.cpp's state: values transposed");
    const auto layers = reader.take<std::uint32_t>();
    view.keys = planes(reader, layers, cells);
    view.values = planes(reader, layers, cells);
  }
  if (view.tokens == 0 || view.keys.empty()) throw Failure("llama.cpp's state: no tokens");
  if (reader.left() != 0) throw Failure("llama.cpp's state: longer than expected");
  return view;
}

}  // namespace aqua::llama_example
