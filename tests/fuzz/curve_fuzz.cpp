// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of curves: parse_curves() never crashes, what it accepts is exactly what
// print_curves() writes for it, and its curves answer every question with a sane time. Half of
// the inputs become the body of a file whose hash is right, which chance would not find.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fnv1a.hpp"
#include "transfer/calibration/curve_file.hpp"

namespace {

using namespace aqua::transfer;

std::string hashed(std::string text) {
  const std::uint64_t hash = aqua::fnv1a(text);
  text += "end ";
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[hash >> shift & 15];
  return text + "\n";
}

void ask(const Curve& curve) {
  for (double bytes = 1; bytes < 1e13; bytes *= 37) {
    for (double pieces = 1; pieces <= bytes; pieces *= 29) {
      const double seconds = curve.seconds(bytes, bytes / pieces);
      if (!std::isfinite(seconds) || seconds < 0) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) text = hashed(std::move(text));
  const auto file = parse_curves(text);
  if (!file.ok()) {
    if (file.error().code != aqua::Code::invalid_argument) std::abort();
    return 0;
  }
  if (print_curves(file->key, file->curves) != text) std::abort();
  for (const Link link : kLinks) {
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) ask(file->curves.at(link, direction, way));
    }
  }
  return 0;
}
