// SPDX-License-Identifier: Apache-2.0
// placed_engine: an engine where `aqua place` has put it.
#include "must.hpp"
#include "program.hpp"
#include "roles.hpp"

namespace aqua::example {
namespace {

int run(const PlacedOptions& options) {
  const Profile profile = must(read_profile(options.profile), options.name);
  switch (profile.role) {
    case ProfileRole::producer:
      return run_lender(options, profile);
    case ProfileRole::consumer:
      return run_borrower(options, profile);
    case ProfileRole::neutral:
      break;
  }
  throw Failure(options.name + " neither lends nor borrows: " + options.profile.string());
}

}  // namespace
}  // namespace aqua::example

int main(int argc, char** argv) {
  using namespace aqua::example;
  return run_program<PlacedOptions>({"placed_engine", placed_line, run, check_placed}, argc, argv);
}
