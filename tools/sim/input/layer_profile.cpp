// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/input/layer_profile.hpp"

#include <array>
#include <iterator>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/sim/input/csv_table.hpp"

namespace aqua::sim {
namespace {

constexpr double kMs = 1e-3;
struct Part {
  const char* name;
  double times;  // a layer
};
constexpr std::array<Part, 10> kParts{{{"input_layernorm", 1},
                                       {"attn_pre_proj", 1},
                                       {"attn_rope", 1},
                                       {"attn_post_proj", 1},
                                       {"post_attention_layernorm", 1},
                                       {"mlp_up_proj", 1},
                                       {"mlp_act", 1},
                                       {"mlp_down_proj", 1},
                                       {"add", 2},
                                       {"emb", 0}}};

std::string median_of(const char* part) {
  return concat("time_stats.", part, ".median");
}

Result<ModelSpec> shape_of(const CsvTable& table) {
  const auto whole = [&](const char* name) -> Result<std::uint32_t> {
    AQUA_ASSIGN(const std::size_t column, table.column(name));
    AQUA_ASSIGN(const double value, table.number(column));
    return static_cast<std::uint32_t>(value);
  };
  ModelSpec shape;
  AQUA_ASSIGN(shape.heads, whole("n_head"));
  AQUA_ASSIGN(shape.kv_heads, whole("n_kv_head"));
  AQUA_ASSIGN(shape.hidden, whole("n_embd"));
  AQUA_ASSIGN(shape.ffn, whole("n_expanded_embd"));
  AQUA_ASSIGN(shape.vocab, whole("vocab_size"));
  if (shape.heads == 0 || shape.hidden == 0) {
    return Error{Code::invalid_argument, "layer profile: n_head and n_embd must be positive"};
  }
  shape.head_dim = shape.hidden / shape.heads;
  return shape;
}

}  // namespace

Result<LayerProfile> LayerProfile::read(std::string_view text, unsigned tensor_parallel) {
  AQUA_ASSIGN(CsvTable table, CsvTable::open("layer profile", text));
  AQUA_ASSIGN(const std::size_t tokens, table.column("num_tokens"));
  AQUA_ASSIGN(const std::size_t workers, table.column("num_tensor_parallel_workers"));
  std::array<std::size_t, kParts.size()> columns{};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    AQUA_ASSIGN(columns[i], table.column(median_of(kParts[i].name)));
  }
  LayerProfile profile;
  std::map<unsigned, unsigned> rows;
  for (;;) {
    AQUA_ASSIGN(const bool more, table.next());
    if (!more) break;
    AQUA_ASSIGN(const double degree, table.number(workers));
    AQUA_ASSIGN(const double size, table.number(tokens));
    if (degree != tensor_parallel || size < 1 || size > 1e6) continue;
    if (rows.empty()) {
      AQUA_ASSIGN(profile.shape_, shape_of(table));
    }
    double layer = 0, embedding = 0;
    for (std::size_t i = 0; i < kParts.size(); ++i) {
      AQUA_ASSIGN(const double ms, table.number(columns[i]));
      (kParts[i].times > 0 ? layer : embedding) +=
          ms * kMs * (kParts[i].times > 0 ? kParts[i].times : 1);
    }
    const auto n = static_cast<unsigned>(size);
    ++rows[n];
    profile.layer_[n] += layer;
    profile.embedding_[n] += embedding;
  }
  if (rows.empty()) {
    return Error{Code::failed_precondition, concat("layer profile: no rows with ", tensor_parallel,
                                                   " tensor-parallel workers")};
  }
  for (const auto& [n, count] : rows) {
    profile.layer_[n] /= count;
    profile.embedding_[n] /= count;
  }
  return profile;
}

double LayerProfile::at(const Curve& curve, double tokens) {
  const auto above = curve.lower_bound(static_cast<unsigned>(std::max(0.0, tokens)));
  if (above == curve.end()) return curve.rbegin()->second * tokens / curve.rbegin()->first;
  if (above == curve.begin() || above->first == tokens) return above->second;
  const auto below = std::prev(above);
  const double part = (tokens - below->first) / (above->first - below->first);
  return below->second + (above->second - below->second) * part;
}

}  // namespace aqua::sim
