// SPDX-License-Identifier: Apache-2.0
#include "transfer/calibration/curve_file.hpp"

#include <charconv>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include "base/concat.hpp"
#include "base/fnv1a.hpp"
#include "base/try.hpp"

namespace aqua::transfer {
namespace {

constexpr std::string_view kHeader = "aqua-curves 1";
constexpr std::size_t kMaxWord = 200;  // of the key's strings

std::string printable(std::string_view text) {
  std::string out(text.substr(0, kMaxWord));
  for (char& c : out) {
    if (c < ' ' || c > '~') c = '?';
  }
  return out;
}

std::string hash_line(std::string_view text) {
  char line[32];
  std::snprintf(line, sizeof line, "end %016llx\n", static_cast<unsigned long long>(fnv1a(text)));
  return line;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  [[nodiscard]] Error bad(const char* what) const {
    return Error{Code::invalid_argument, concat("curves: line ", line_, ": ", what)};
  }
  [[nodiscard]] bool at(std::string_view word) const { return left_.starts_with(word); }
  [[nodiscard]] Result<std::string_view> line() {
    ++line_;
    const std::size_t end = left_.find('\n');
    if (end == std::string_view::npos) return bad("has no end");
    const std::string_view text = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return text;
  }
  // The rest of a line that begins with `name` and a space.
  [[nodiscard]] Result<std::string> value(std::string_view name) {
    AQUA_ASSIGN(const std::string_view text, line());
    if (!text.starts_with(name) || text.size() == name.size() || text[name.size()] != ' ') {
      return bad("is not the field expected here");
    }
    return std::string(text.substr(name.size() + 1));
  }

 private:
  std::string_view left_;
  std::size_t line_ = 0;
};

// `count` numbers with single spaces between, and nothing else.
template <std::size_t count>
std::optional<std::array<std::uint64_t, count>> numbers(std::string_view text) {
  std::array<std::uint64_t, count> out{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0 && (at == end || *at++ != ' ')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, out[i]);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return out;
}

std::string curve_name(Link link, Direction direction, Way way) {
  return concat(to_string(link), ' ', to_string(direction), ' ', to_string(way));
}

Result<Curve> read_curve(Reader& in, const std::string& name) {
  AQUA_ASSIGN(const std::string count_text, in.value(name));
  const auto count = numbers<1>(count_text);
  if (!count || (*count)[0] > Curve::kMaxPoints) return in.bad("bad number of points");
  std::vector<CurvePoint> points;
  for (std::uint64_t i = 0; i < (*count)[0]; ++i) {
    AQUA_ASSIGN(const std::string_view text, in.line());
    const auto point = numbers<3>(text);
    if (!point) return in.bad("is not a point");
    points.push_back({(*point)[0], (*point)[1], (*point)[2]});
  }
  return Curve::make(std::move(points));
}

Result<CurveFile> read(Reader& in) {
  CurveFile file;
  AQUA_ASSIGN(const std::string_view header, in.line());
  if (header != kHeader) return in.bad("is not 'aqua-curves 1'");
  AQUA_ASSIGN(file.key.library, in.value("library"));
  AQUA_ASSIGN(file.key.driver, in.value("driver"));
  AQUA_ASSIGN(const std::string device, in.value("device"));
  AQUA_ASSIGN(file.key.device, parse_id<DeviceTag>(device));
  for (const Link link : kLinks) {
    if (!in.at(to_string(link))) continue;
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        AQUA_ASSIGN(file.curves.at(link, direction, way),
                    read_curve(in, curve_name(link, direction, way)));
      }
    }
    file.curves.set_measured(link);
  }
  return file;
}

}  // namespace

CurveKey key_of(const device::Info& info) {
  return {AQUA_VERSION, printable(info.driver), info.uuid};
}

std::string print_curves(const CurveKey& key, const CurveSet& curves) {
  std::string text = concat(kHeader, "\nlibrary ", printable(key.library), "\ndriver ",
                            printable(key.driver), "\ndevice ", to_string(key.device), '\n');
  for (const Link link : kLinks) {
    if (!curves.measured(link)) continue;
    for (const Direction direction : kDirections) {
      for (const Way way : kWays) {
        const auto points = curves.at(link, direction, way).points();
        text += concat(curve_name(link, direction, way), ' ', points.size(), '\n');
        for (const CurvePoint& p : points) {
          text += concat(p.piece_bytes, ' ', p.bytes, ' ', p.nanoseconds, '\n');
        }
      }
    }
  }
  return text + hash_line(text);
}

Result<CurveFile> parse_curves(std::string_view text) {
  if (text.size() > kMaxCurveText) {
    return Error{Code::invalid_argument, concat("curves: ", text.size(), " bytes are too many")};
  }
  Reader in(text);
  AQUA_ASSIGN(CurveFile file, read(in));
  if (print_curves(file.key, file.curves) != text) {
    return Error{Code::invalid_argument, "curves: changed, cut short, or not as we write them"};
  }
  return file;
}

}  // namespace aqua::transfer
