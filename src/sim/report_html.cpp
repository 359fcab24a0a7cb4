#include "sim/report.hpp"
namespace aqua::sim {
std::string render_html(const Comparison&) { return {}; }
}
