// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>

#include "base/escape_html.hpp"
#include "tools/place/report.hpp"

namespace aqua::place {
namespace {

constexpr int kBox = 92;
constexpr int kGap = 8;
constexpr int kLeft = 110;
constexpr int kRow = 128;

const char* colour_of(Bytes bytes) {
  return bytes > 0 ? "#b7e1b0" : bytes < 0 ? "#f2b8b0" : "#dddddd";
}

struct Spot {
  int x = 0;
  int y = 0;
};

}  // namespace

std::string render_svg(const Cluster& cluster, const Placement& placement) {
  const auto gib = [](Bytes b) { return static_cast<double>(b) / static_cast<double>(1 << 30); };
  std::vector<int> row(cluster.servers().size());
  int rows = 0;
  for (const Unit& unit : cluster.units()) {
    for (const int s : unit.servers) row[static_cast<std::size_t>(s)] = rows++;
  }
  int widest = 0;
  for (const Server& server : cluster.servers()) widest = std::max(widest, server.gpus);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kLeft + widest * (kBox + kGap) + 20
      << "\" height=\"" << 50 + rows * kRow
      << "\" font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"10\" y=\"20\">objective "
      << gib(placement.score.objective) << " GiB, bound " << gib(placement.bound) << " GiB; "
      << placement.pairs.size() << " pairs serve " << gib(placement.score.served)
      << " GiB; green lends, red borrows</text>\n";
  std::vector<int> used(cluster.servers().size());
  std::map<ShardRef, Spot> spots;
  for (std::size_t s = 0; s < cluster.servers().size(); ++s) {
    const Server& server = cluster.servers()[s];
    const int y = 60 + row[s] * kRow;
    out << "<text x=\"10\" y=\"" << y + 24 << "\" font-weight=\"bold\">" << escape_html(server.id)
        << "</text>\n<text x=\"10\" y=\"" << y + 40 << "\">" << escape_html(server.domain)
        << "</text>\n";
    for (int g = 0; g < server.gpus; ++g) {
      out << "<rect x=\"" << kLeft + g * (kBox + kGap) << "\" y=\"" << y << "\" width=\"" << kBox
          << "\" height=\"48\" fill=\"none\" stroke=\"#888\"/>\n";
    }
  }
  for (std::size_t m = 0; m < placement.assignment.size(); ++m) {
    const Model& model = cluster.models()[m];
    const auto s = static_cast<std::size_t>(placement.assignment[m]);
    for (int shard = 0; shard < model.shards; ++shard) {
      const int x = kLeft + used[s]++ * (kBox + kGap);
      const int y = 60 + row[s] * kRow;
      const ShardRef ref{static_cast<int>(m), shard};
      spots[ref] = {x + kBox / 2, y + 48};
      const std::string name = shard_name(cluster, ref);
      out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << kBox
          << "\" height=\"48\" fill=\"" << colour_of(model.bytes) << "\" stroke=\"#444\"><title>"
          << escape_html(name) << "</title></rect>\n<text x=\"" << x + 4 << "\" y=\"" << y + 20
          << "\">" << escape_html(name.size() > 14 ? name.substr(name.size() - 14) : name)
          << "</text>\n<text x=\"" << x + 4 << "\" y=\"" << y + 38 << "\">" << gib(model.bytes)
          << " GiB</text>\n";
    }
  }
  for (const Pair& pair : placement.pairs) {
    const Spot from = spots[pair.producer];
    const Spot to = spots[pair.consumer];
    const int deep = std::max(from.y, to.y) + 16 + std::abs(from.x - to.x) / 20;
    out << "<path d=\"M " << from.x << ' ' << from.y << " C " << from.x << ' ' << deep << ", "
        << to.x << ' ' << deep << ", " << to.x << ' ' << to.y
        << "\" fill=\"none\" stroke=\"#3060c0\"/>\n";
  }
  out << "</svg>\n";
  return std::move(out).str();
}

}  // namespace aqua::place
