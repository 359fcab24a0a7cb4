// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "aqua/packing/packer.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "systems/packing/decide/fit_packer.hpp"
#include "systems/packing/decide/mell_packer.hpp"

namespace aqua::packing {
namespace {

using Maker = std::unique_ptr<Packer> (*)(const PackerOptions&);

template <typename Kind, auto... more>
std::unique_ptr<Packer> build(const PackerOptions& options) {
  return std::make_unique<Kind>(options, more...);
}

constexpr std::pair<std::string_view, Maker> makers[] = {
    {"pack", build<PackPacker>}, {"mell", build<MellPacker>},    {"drain", build<DrainPacker>},
    {"lb", build<LbPacker>},     {"wf", build<FitPacker, true>}, {"bf", build<FitPacker, false>},
};

}  // namespace

std::vector<std::string> packer_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers) names.emplace_back(name);
  return names;
}

Result<std::unique_ptr<Packer>> make_packer(std::string_view name, const PackerOptions& options) {
  AQUA_TRY(check(options));
  std::string known;
  for (const auto& [key, make] : makers) {
    if (key == name) return make(options);
    known.append(known.empty() ? "" : ", ").append(key);
  }
  return Error{Code::invalid_argument,
               concat("make_packer: no policy '", name, "'; there are ", known)};
}

}  // namespace aqua::packing
