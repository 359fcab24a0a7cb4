// SPDX-License-Identifier: Apache-2.0
// Any bytes as a client's request, or as what an engine says, to the router: never a crash, and
// what is accepted keeps its promises.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/router/decide/relay.hpp"
#include "tools/router/decide/stop_scanner.hpp"
#include "tools/router/fleet/engine.hpp"
#include "tools/router/serve/admin.hpp"
#include "tools/router/speech/asked.hpp"
#include "tools/router/speech/dialect.hpp"
#include "tools/router/speech/told.hpp"

namespace {

using namespace aqua::router;
using Json = nlohmann::json;

void require(bool good) {
  if (!good) std::abort();
}

void check_asked(Api api, const std::string& body) {
  const auto asked = parse_asked(api, body);
  if (!asked.ok()) return require(asked.error().code == aqua::Code::invalid_argument);
  require(!asked->stays.empty() || !asked->ids.empty() || !asked->text.empty() ||
          !asked->messages.empty());
  for (const Dialect dialect : {Dialect::vllm, Dialect::llama}) {
    const std::vector<TokenId> ids{1, 2, 3};
    const Json call = Json::parse(continue_call(dialect, "m", *asked, ids, ids).body);
    require(call.at("prompt").size() == 6 && call.at("stream") == true);
    require(Json::accept(tokenize_call(dialect, "m", *asked).body));
  }
}

void check_event(Dialect dialect, const std::string& data, std::uint64_t had) {
  const auto event = parse_token_event(dialect, data, had);
  if (!event.ok()) return require(event.error().code == aqua::Code::data_loss);
  require(event->ids.size() <= event->count || event->ids.empty());
  // Where it says that its tokens are elsewhere, they are none.
  PieceMaker maker(3, had);
  const auto piece = maker.feed(event->ids, event->count, event->text, event->finish, event->place);
  const Place place = event->place.value_or(Place{3, had});
  require(piece.ok() ==
          (place.turn == 3 && place.position == had && event->count <= UINT64_MAX - had));
  require(!piece.ok() || !*piece || ((*piece)->position == had && (*piece)->ids == event->ids));
  const Heading heading{.id = "x", .model = data, .tell_ids = true};
  const std::string told = piece_event(heading, event->text, event->ids, event->finish);
  require(Json::accept(told.substr(6)));
  require(told.find('\n') == told.size() - 2);  // one event, whatever is in it
}

// Said byte by byte, an answer is the same.
void check_stops(const std::string& text) {
  const std::string stop = text.substr(0, 3);
  StopScanner whole({stop}), cut({stop});
  const std::string expected = whole.feed(text) + whole.finish();
  std::string said;
  for (const char c : text) said += cut.feed(std::string(1, c));
  require(said + cut.finish() == expected);
}

// Bytes as what happens to a relay: what passes is counted once.
void check_relay(const std::string& script) {
  Relay relay;
  std::uint64_t told = 0;
  for (const char c : script) {
    const auto what = static_cast<unsigned char>(c);
    const Turn turn = what % 2 == 0 ? relay.speaker() : relay.other();
    const Piece piece{.turn = what % 16 == 15 ? Turn{what} : turn,
                      .position = relay.passed() + (what % 32 == 31 ? 1U : 0U),
                      .count = 1};
    Next next = Next::nothing;
    switch (what / 2 % 8) {
      case 0:
        (void)relay.begin();
        break;
      case 1:
        (void)relay.warm();
        break;
      case 2:
        (void)relay.warmed(turn);
        break;
      case 3:
        next = relay.died(turn);
        break;
      case 4:
        next = relay.give_up();
        break;
      default:
        next = relay.heard(piece);
        told += next == Next::pass || next == Next::take_over ? 1 : 0;
    }
    if (next == Next::release) told += relay.take_held().size();
    require(relay.passed() == told);
  }
}

void check_move_word(const std::string& text) {
  const auto word = parse_move_word(text);
  if (!word.ok()) return require(word.error().code == aqua::Code::data_loss);
  if (*word) require((*word)->position <= 1'000'000'000 && (*word)->room_tokens <= 1'000'000'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 6) {
    case 0:
      check_asked(Api::completions, text);
      check_asked(Api::chat, text);
      break;
    case 1:
      check_event(Dialect::vllm, text, data[1]);
      check_event(Dialect::llama, text, data[1]);
      break;
    case 2:
      check_stops(text);
      break;
    case 3:
      check_relay(text);
      break;
    case 4:
      (void)parse_engine(text);
      (void)parse_move(text);
      (void)parse_tokens(text);
      (void)parse_template(text);
      (void)parse_pool(text);
      check_move_word(text);
      break;
    default:
      for (const auto& capacity : {vllm_capacity(text), llama_capacity(text)})
        require(!capacity.ok() || *capacity <= std::uint64_t{1} << 40);
  }
  return 0;
}
