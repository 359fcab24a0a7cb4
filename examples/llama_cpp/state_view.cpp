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
    const std::size_t begin = reader.at();
    const auto cells = reader.take<std::uint32_t>();
    if (cells == 0) continue;
    if (view.tokens != 0) throw Failure("llama.cpp's state: a sequence in two streams");
    view.tokens = cells;
    view.cells_at = begin;
    for (std::uint32_t i = 0; i < cells; ++i) {
      view.positions.push_back(reader.take<std::int32_t>());
      const auto sequences = reader.take<std::uint32_t>();
      if (sequences != 1) throw Failure("llama.cpp's state: a cell of several sequences");
      (void)reader.take<std::int32_t>();
    }
    if (reader.take<std::uint32_t>() != 0) throw Failure("llama.cpp's state: values transposed");
    const auto layers = reader.take<std::uint32_t>();
    view.keys = planes(reader, layers, cells);
    view.values = planes(reader, layers, cells);
    view.end_at = reader.at();
  }
  if (view.tokens == 0 || view.keys.empty()) throw Failure("llama.cpp's state: no tokens");
  if (reader.left() != 0) throw Failure("llama.cpp's state: longer than expected");
  std::vector<bool> there(view.tokens);
  for (const std::int32_t position : view.positions) {
    const auto at = static_cast<std::size_t>(position);
    if (position < 0 || at >= there.size() || there[at])
      throw Failure("llama.cpp's state: position " + std::to_string(position) + " of " +
                    std::to_string(view.tokens) + " tokens");
    there[at] = true;
  }
  return view;
}

std::vector<std::byte> empty_state(std::span<const std::byte> sample, std::size_t tokens) {
  const StateView view = StateView::of(sample);
  std::vector<std::byte> state;
  const auto copy = [&](std::span<const std::byte> bytes) {
    state.insert(state.end(), bytes.begin(), bytes.end());
  };
  const auto put = [&](auto value) { copy(std::as_bytes(std::span(&value, 1))); };
  // kOfCell bytes follow the position of a cell, kOfPlane bytes precede the rows of a plane.
  constexpr std::size_t kPosition = sizeof(std::int32_t);
  constexpr std::size_t kOfCell = sizeof(std::uint32_t) + sizeof(std::int32_t);
  constexpr std::size_t kOfPlane = sizeof(std::int32_t) + sizeof(std::uint64_t);
  const std::size_t cells = view.cells_at + sizeof(std::uint32_t);
  const std::size_t after_cells = cells + view.tokens * (kPosition + kOfCell);
  copy(sample.first(view.cells_at));
  put(static_cast<std::uint32_t>(tokens));
  for (std::size_t i = 0; i < tokens; ++i) {
    put(static_cast<std::int32_t>(i));
    copy(sample.subspan(cells + kPosition, kOfCell));
  }
  copy(sample.subspan(after_cells, 2 * sizeof(std::uint32_t)));  // transposed, layers
  for (const auto* rows : {&view.keys, &view.values}) {
    for (const StatePlane& plane : *rows) {
      copy(sample.subspan(plane.offset - kOfPlane, kOfPlane));
      state.resize(state.size() + tokens * plane.row_bytes);
    }
  }
  copy(sample.subspan(view.end_at));
  return state;
}

}  // namespace aqua::llama_example
