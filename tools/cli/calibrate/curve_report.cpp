// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/calibrate/curve_report.hpp"

#include <cmath>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "base/concat.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::json;
using transfer::Choice;
using transfer::Direction;
using transfer::Job;
using transfer::Link;
using transfer::Pieces;
using transfer::Way;

constexpr std::size_t kSmallest = std::size_t{4} << 10;
constexpr std::size_t kLargest = std::size_t{4} << 20;

template <typename Visit>
void for_each_measured(const CurveReport& report, Visit visit) {
  for (const Link link : transfer::kLinks) {
    if (!report.curves.measured(link)) continue;
    for (const Direction direction : transfer::kDirections) visit(link, direction);
  }
}

Choice choose(const CurveReport& report, Link link, Direction direction, const Pieces& pieces) {
  return transfer::choose(report.curves, Job{link, direction, pieces, report.possible});
}

double gbps(const Pieces& pieces, double seconds) {
  return seconds > 0 ? static_cast<double>(pieces.bytes()) / seconds * 1e-9 : 0;
}

Pieces whole(std::size_t bytes, std::size_t piece) {
  return {std::max<std::size_t>(bytes / piece, 1), piece};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// One letter a way, on a grid of characters.
class Plot {
 public:
  static constexpr std::size_t kColumns = 61;
  static constexpr std::size_t kRows = 16;

  void add(double x, double gb_per_s, char mark) {  // x: 0 to 1
    if (gb_per_s > 0) dots_.push_back({x, std::log10(gb_per_s), mark});
  }
  [[nodiscard]] std::string draw() const {
    double low = 1e9;
    double high = -1e9;
    for (const Dot& d : dots_) {
      low = std::min(low, d.y);
      high = std::max(high, d.y);
    }
    if (dots_.empty()) return "";
    high = std::max(high, low + 0.1);
    std::vector<std::string> grid(kRows, std::string(kColumns, ' '));
    for (const Dot& d : dots_) {
      const double up = (d.y - low) / (high - low) * static_cast<double>(kRows - 1);
      const auto row = kRows - 1 - static_cast<std::size_t>(std::lround(up));
      const auto column = std::lround(d.x * static_cast<double>(kColumns - 1));
      char& cell = grid[row][static_cast<std::size_t>(column)];
      cell = cell == ' ' || cell == d.mark ? d.mark : '*';
    }
    std::ostringstream out;
    for (std::size_t r = 0; r < kRows; ++r) {
      const double y = high - (high - low) * static_cast<double>(r) / (kRows - 1);
      out << std::setw(8) << std::setprecision(3) << std::pow(10, y) << " |" << grid[r] << '\n';
    }
    out << "    GB/s +" << std::string(kColumns, '-') << '\n';
    return std::move(out).str();
  }

 private:
  struct Dot {
    double x;
    double y;
    char mark;
  };
  std::vector<Dot> dots_;
};

}  // namespace

std::string render_table(const CurveReport& report) {
  std::ostringstream out;
  out << report.device << (report.driver.empty() ? "" : ", ") << report.driver << "; GB/s of "
      << (report.bytes >> 20) << " MiB in pieces of one size\n"
      << std::fixed << std::setprecision(2);
  for_each_measured(report, [&](Link link, Direction direction) {
    out << '\n' << to_string(link) << ' ' << to_string(direction) << '\n' << std::setw(9) << "KiB";
    for (const Way way : transfer::kWays) out << std::setw(10) << to_string(way);
    out << "  choice\n";
    for (std::size_t piece = kSmallest; piece <= kLargest; piece *= 2) {
      const Pieces pieces = whole(report.bytes, piece);
      const Choice choice = choose(report, link, direction, pieces);
      out << std::setw(9) << (piece >> 10);
      for (const auto& e : choice.estimates) {
        if (e.seconds > 0) out << std::setw(10) << gbps(pieces, e.seconds);
        if (e.seconds <= 0) out << std::setw(10) << '-';
      }
      out << "  " << to_string(choice.way) << '\n';
    }
  });
  return std::move(out).str();
}

std::string render_plot(const CurveReport& report) {
  std::string out;
  for_each_measured(report, [&](Link link, Direction direction) {
    Plot plot;
    for (std::size_t column = 0; column < Plot::kColumns; ++column) {
      const double x = static_cast<double>(column) / static_cast<double>(Plot::kColumns - 1);
      const double ratio = static_cast<double>(kLargest) / static_cast<double>(kSmallest);
      const auto piece = static_cast<std::size_t>(kSmallest * std::pow(ratio, x));
      const Pieces pieces = whole(report.bytes, piece);
      for (const auto& e : choose(report, link, direction, pieces).estimates) {
        plot.add(x, gbps(pieces, e.seconds), to_string(e.way)[0]);
      }
    }
    out += concat('\n', to_string(link), ' ', to_string(direction), ", ", report.bytes >> 20,
                  " MiB\n", plot.draw(),
                  "          4 KiB                                                4 MiB\n"
                  "          e each, b batched, s staged, k kernel, * several\n");
  });
  return out;
}

std::string render_json(const CurveReport& report) {
  Json links = Json::array();
  for_each_measured(report, [&](Link link, Direction direction) {
    Json points = Json::array();
    for (const Way way : transfer::kWays) {
      for (const auto& p : report.curves.at(link, direction, way).points()) {
        points.push_back({{"way", to_string(way)},
                          {"piece_bytes", p.piece_bytes},
                          {"bytes", p.bytes},
                          {"ns", p.nanoseconds}});
      }
    }
    Json table = Json::array();
    for (std::size_t piece = kSmallest; piece <= kLargest; piece *= 2) {
      const Pieces pieces = whole(report.bytes, piece);
      const Choice choice = choose(report, link, direction, pieces);
      Json row{{"piece_bytes", piece}, {"choice", to_string(choice.way)}};
      for (const auto& e : choice.estimates) {
        if (e.seconds > 0) row["gbps"][std::string(to_string(e.way))] = gbps(pieces, e.seconds);
      }
      table.push_back(std::move(row));
    }
    links.push_back({{"link", to_string(link)},
                     {"direction", to_string(direction)},
                     {"points", points},
                     {"table", table}});
  });
  return dump({{"device", report.device},
               {"driver", report.driver},
               {"bytes", report.bytes},
               {"links", links}});
}

std::string render_explanation(const CurveReport& report, std::size_t bytes, std::size_t block) {
  std::string out;
  for_each_measured(report, [&](Link link, Direction direction) {
    const Job job{link, direction, whole(bytes, block), report.possible};
    out += transfer::explain(job, transfer::choose(report.curves, job));
  });
  return out;
}

std::string render_explanation_json(const CurveReport& report, std::size_t bytes,
                                    std::size_t block) {
  Json all = Json::array();
  for_each_measured(report, [&](Link link, Direction direction) {
    const Pieces pieces = whole(bytes, block);
    const Choice choice = choose(report, link, direction, pieces);
    Json one{{"link", to_string(link)},       {"direction", to_string(direction)},
             {"bytes", pieces.bytes()},       {"pieces", pieces.count()},
             {"way", to_string(choice.way)},  {"reason", to_string(choice.reason)},
             {"expected_s", choice.seconds()}};
    for (const auto& e : choice.estimates) {
      if (e.possible && e.seconds > 0) one["seconds"][std::string(to_string(e.way))] = e.seconds;
    }
    all.push_back(std::move(one));
  });
  return dump(all);
}

}  // namespace aqua::tool
