// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <map>
#include <sstream>

#include "tools/place/report.hpp"
#include "tools/report/escape_html.hpp"

namespace aqua::place {
namespace {

constexpr int kBox = 92;
constexpr int kGap = 8;
constexpr int kLeft = 110;
constexpr int kRow = 128;
constexpr int kTop = 60;
constexpr int kLeast = 760;  // so that the sentence fits

const char* colour_of(Bytes bytes) {
  return bytes > 0 ? "#b7e1b0" : bytes < 0 ? "#f2b8b0" : "#dddddd";
}

struct Spot {
  int x = 0;
  int y = 0;
};

// Its beginning and its end, which tells the shard. Letters beyond ASCII are not cut apart.
std::string fitting(const std::string& name) {
  constexpr std::size_t kMost = 14;
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  const bool whole = name.size() <= kMost || !std::ranges::all_of(name, ascii);
  return whole ? name : name.substr(0, 7) + "…" + name.substr(name.size() - 6);
}

// From lender to borrower, with how much: beside the tip, since a borrower has one lender.
void arc(std::ostringstream& out, const Spot& from, const Spot& to, const Pair& pair) {
  const int deep = std::max(from.y, to.y) + 16 + std::abs(from.x - to.x) / 20;
  out << "<path d=\"M " << from.x << ' ' << from.y << " C " << from.x << ' ' << deep << ", " << to.x
      << ' ' << deep << ", " << to.x << ' ' << to.y
      << "\" fill=\"none\" stroke=\"#3060c0\" marker-end=\"url(#to)\"/>\n<text x=\"" << to.x + 6
      << "\" y=\"" << to.y + 12 << "\" fill=\"#3060c0\">" << gib(pair.bytes) << " GiB</text>\n";
}

}  // namespace

std::string render_svg(const Cluster& cluster, const Placement& placement) {
  std::vector<int> row(cluster.servers().size());
  int rows = 0;
  for (const Unit& unit : cluster.units()) {
    for (const int s : unit.servers) row[static_cast<std::size_t>(s)] = rows++;
  }
  int widest = 0;
  for (const Server& server : cluster.servers()) widest = std::max(widest, server.gpus);
  std::ostringstream out;
  out << std::fixed << std::setprecision(1);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
      << std::max(kLeft + widest * (kBox + kGap) + 20, kLeast) << "\" height=\""
      << kTop + rows * kRow
      << "\" font-family=\"sans-serif\" font-size=\"11\">\n<defs><marker id=\"to\" "
         "viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
         "orient=\"auto\"><path d=\"M 0 0 L 8 4 L 0 8 z\" fill=\"#3060c0\"/></marker></defs>\n"
      << "<text x=\"10\" y=\"22\" font-size=\"14\">"
      << report::escape_html(verdict(cluster, placement))
      << "</text>\n<text x=\"10\" y=\"40\">Arrows go from lender to borrower. Imbalance of the "
         "worst "
      << "domain " << gib(placement.score.objective) << " GiB; no placement is below "
      << gib(placement.bound) << " GiB.</text>\n";
  std::vector<int> used(cluster.servers().size());
  std::map<ShardRef, Spot> spots;
  for (std::size_t s = 0; s < cluster.servers().size(); ++s) {
    const Server& server = cluster.servers()[s];
    const int y = kTop + row[s] * kRow;
    out << "<text x=\"10\" y=\"" << y + 24 << "\" font-weight=\"bold\">"
        << report::escape_html(server.id) << "</text>\n<text x=\"10\" y=\"" << y + 40 << "\">"
        << report::escape_html(server.domain) << "</text>\n";
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
      const int y = kTop + row[s] * kRow;
      const ShardRef ref{static_cast<int>(m), shard};
      spots[ref] = {x + kBox / 2, y + 48};
      const std::string name = shard_name(cluster, ref);
      out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << kBox
          << "\" height=\"48\" fill=\"" << colour_of(model.bytes) << "\" stroke=\"#444\"><title>"
          << report::escape_html(name) << "</title></rect>\n<text x=\"" << x + 4 << "\" y=\""
          << y + 20 << "\">" << report::escape_html(fitting(name)) << "</text>\n";
      if (model.bytes == 0) continue;
      out << "<text x=\"" << x + 4 << "\" y=\"" << y + 38 << "\">"
          << (model.bytes < 0 ? "wants " : "spares ") << gib(std::abs(model.bytes))
          << " GiB</text>\n";
    }
  }
  for (const Pair& pair : placement.pairs)
    arc(out, spots[pair.producer], spots[pair.consumer], pair);
  out << "</svg>\n";
  return std::move(out).str();
}

}  // namespace aqua::place
