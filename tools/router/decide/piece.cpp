// SPDX-License-Identifier: Apache-2.0
#include "tools/router/decide/piece.hpp"

#include <utility>

#include "base/concat.hpp"

namespace aqua::router {

Result<std::optional<Piece>> PieceMaker::feed(std::vector<TokenId> ids, std::uint64_t count,
                                              std::string_view text, std::string_view finish,
                                              std::optional<Place> place) {
  const auto wrong = [](std::string what) { return Error{Code::data_loss, std::move(what)}; };
  if (!place && tells_places_ && count > 0) return wrong("a token without its position");
  tells_places_ = tells_places_ || place;
  const Place here = place.value_or(Place{heard_.turn(), heard_.next()});
  const auto heard = heard_.take(here.turn, here.position, count);
  if (!heard.ok()) return wrong(heard.error().message);
  if (*heard != migration::Passes::yes) {
    return wrong(concat("position ", here.position, " under turn ", here.turn, " again; ",
                        heard_.next(), " under turn ", heard_.turn(), " is to come"));
  }
  begun_.ids.insert(begun_.ids.end(), ids.begin(), ids.end());
  begun_.count += count;
  if (text.empty() && finish.empty()) return std::optional<Piece>();
  Piece piece = std::exchange(begun_, {});
  piece.turn = heard_.turn();
  piece.position = heard_.next() - piece.count;
  piece.text = text;
  piece.finish = finish;
  return std::optional(std::move(piece));
}

}  // namespace aqua::router
