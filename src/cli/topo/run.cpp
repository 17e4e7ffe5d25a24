// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "src/cli/topo/run.h"

#include <fstream>
#include <iterator>
#include <ostream>
#include <utility>

#include "src/cli/topo/json.h"
#include "src/cli/topo/picture.h"
#include "src/cli/topo/scene.h"
#include "src/cli/topo/svg.h"
#include "topology/machine.h"
#include "topology/nccl_lint.h"

namespace fabrail::cli::topo {

namespace {

Result<topology::Machine> read(const Options& options) {
  if (!options.from.empty()) return topology::read_machine_file(options.from, "");
  return topology::read_machine({.hwloc_xml = options.hwloc_xml});
}

int write_drawing(const Scene& scene, const std::string& file, std::ostream& err) {
  std::ofstream stream(file);
  write_svg(scene, stream);
  stream.close();
  if (stream) return 0;
  err << "fabrail topo: cannot write " << file << "\n";
  return 1;
}

const char* word(topology::Severity severity) {
  switch (severity) {
    case topology::Severity::kError:
      return "error";
    case topology::Severity::kWarning:
      return "warning";
    case topology::Severity::kNote:
      break;
  }
  return "note";
}

int lint(const Scene& scene, const std::string& file, std::ostream& out, std::ostream& err) {
  std::ifstream stream(file);
  if (!stream) {
    err << "fabrail topo: cannot read " << file << "\n";
    return 1;
  }
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  const auto devices = topology::visible_devices(scene.machine, scene.nics, scene.plan);
  bool failed = false;
  for (const topology::Finding& finding : topology::lint_nccl_xml(text, devices)) {
    out << file << ":" << finding.line << ": " << word(finding.severity) << ": " << finding.text
        << "\n";
    failed = failed || finding.severity == topology::Severity::kError;
  }
  return failed ? 1 : 0;
}

}  // namespace

int run(const Options& options, std::ostream& out, std::ostream& err) {
  auto machine = read(options);
  if (!machine.ok()) {
    err << "fabrail topo: " << machine.error().text() << "\n";
    return 1;
  }
  for (const std::string& complaint : machine.value().complaints) {
    err << "fabrail topo: " << complaint << "\n";
  }
  const topology::Settings settings = {.instance = options.instance,
                                       .max_rails = options.max_rails};
  const Scene scene = make_scene(machine.take(), settings, "/sys");
  if (!options.lint.empty()) return lint(scene, options.lint, out, err);
  if (!options.svg.empty()) return write_drawing(scene, options.svg, err);
  if (options.json) {
    write_json(scene, out);
  } else if (options.nccl_xml) {
    out << scene.xml.text;
    if (scene.xml.text.empty()) err << "no topology file: " << scene.xml.reason << "\n";
  } else {
    draw_picture(scene, options.color, out);
  }
  return 0;
}

}  // namespace fabrail::cli::topo
