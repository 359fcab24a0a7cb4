// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/manual.hpp"

#include <algorithm>

#include "base/concat.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kEnd = R"(.SH EXIT STATUS
0, 1 when it could not be done, 2 for a wrong command line.
.SH ENVIRONMENT
.TP
.B AQUA_COORDINATOR
where the coordinator listens, unless \-\-coordinator says so
.TP
.B AQUA_TOKEN_FILE
a file with a token, for a coordinator on TCP
.TP
.B AQUA_CA_FILE
the authorities, in PEM, that may have signed the certificate of a coordinator at https://; else the system\'s
.SH SEE ALSO
.BR aqua\-coordinator (8)
)";

// The text in the language of man(7): an empty line begins a paragraph.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && c == '\n') out += ".PP";
    if (begins && (c == '.' || c == '\'')) out += "\\&";  // no request
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";  // a hyphen that can be copied into a shell
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

// A command's section: its usage as it stands, what it does, its options.
std::string section(const Page& page) {
  const std::size_t end = std::min(page.about.find("\n\n"), page.about.size());
  std::string_view usage = std::string_view(page.about).substr(0, end);
  if (usage.starts_with("Usage: ")) usage.remove_prefix(7);
  std::string out = concat(".SS aqua ", escaped(page.name), "\n.nf\n", escaped(usage), "\n.fi\n");
  if (end < page.about.size())
    out += concat(".PP\n", escaped(std::string_view(page.about).substr(end + 2)), "\n");
  for (const OptionText& option : page.options) {
    out += concat(".TP\n\\fB", escaped(option.name), "\\fR");
    if (!option.value.empty()) out += concat(" \\fI", escaped(option.value), "\\fR");
    out += concat("\n", escaped(option.help), "\n");
  }
  return out;
}

}  // namespace

std::string manual_page(std::span<const Page> pages, std::string_view version) {
  std::string out =
      concat(".TH AQUA 1 \"\" \"aqua ", escaped(version), "\" \"User Commands\"\n",
             ".SH NAME\naqua \\- look at lent GPU memory, order it home, and plan it\n",
             ".SH SYNOPSIS\n.B aqua\n.I COMMAND\n.RI [ options ]\n.br\n",
             ".B aqua\n.I COMMAND\n.B \\-\\-help\n.SH COMMANDS\n");
  for (const Page& page : pages)
    out += concat(".TP\n.B ", escaped(page.name), "\n", escaped(page.summary), "\n");
  out += ".SH OPTIONS\nWith \\fB\\-\\-json\\fR a command prints JSON and nothing else.\n";
  for (const Page& page : pages) out += section(page);
  return out + kEnd;
}

std::string bash_completion(std::span<const Page> pages) {
  std::string names, cases;
  for (const Page& page : pages) {
    names += concat(page.name, " ");
    cases += concat("      ", page.name, ") words=\"");
    for (const OptionText& option : page.options) {
      if (option.name.starts_with("--")) cases += concat(option.name, " ");
    }
    cases += "--help\" ;;\n";
  }
  return concat(R"(# Completion of aqua, made by `aqua completion bash`.
_aqua() {
  local words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words=")",
                names, R"(--help --version"
  else
    case "${COMP_WORDS[1]}" in
)",
                cases, R"(    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _aqua aqua
)");
}

}  // namespace aqua::tool
