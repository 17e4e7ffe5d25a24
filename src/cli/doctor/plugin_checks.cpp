// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on which net plugin and NCCL this job gets, and whether they fit each other.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kSilentSockets =
    "NCCL then runs on sockets, 10 to 100 times slower, and says so only with NCCL_DEBUG=INFO.";

std::string versioned(const Plugin& plugin) {
  return plugin.version ? fmt::format("{} {}", name_of(plugin.kind), plugin.version->text)
                        : std::string(name_of(plugin.kind));
}

Findings check_nccl(const Survey& survey) {
  const auto& copies = survey.software.nccl;
  if (copies.empty()) {
    return note("no libnccl.so.2 where the loader or Python would look",
                "NCCL may be linked into the framework; checks of its version are left out.");
  }
  const auto& used = copies.front();
  const std::string fact = fmt::format("NCCL {} at {}", text_of(used.version), used.file.path);
  for (const Library& other : copies) {
    if (!other.version || !used.version || *other.version == *used.version) continue;
    return warning(fmt::format("{}, and NCCL {} at {}", fact, other.version->text, other.file.path),
                   "Which one a process gets depends on what loads first. Ranks with different "
                   "versions hang or fail at start.",
                   "Keep one: remove the other, or do not put its folder into LD_LIBRARY_PATH.");
  }
  if (older_than(used.version, 2, 17, 1)) {
    return warning(fact, "EFA plugins support NCCL 2.17.1 and later.", "Update NCCL.");
  }
  return fine(fact);
}

/// A path that this release of NCCL makes a short name of.
bool path_not_taken(const Survey& survey) {
  const std::string setting = survey.settings.value("NCCL_NET_PLUGIN").value_or("");
  return contains(setting, "/") && survey.system.exists(setting);
}

/// Why the loader finds none of the names, as far as the files show.
Findings explain_absence(const Survey& survey) {
  const Software& software = survey.software;
  const std::string names = list_of(software.plugin_candidates);
  if (is_quoted(survey.settings.value("NCCL_NET_PLUGIN").value_or(""))) return {};  // env.quotes
  if (!software.unloadable.empty()) {
    return broken(
        fmt::format("{} is not a library that this machine can load", software.unloadable.front()),
        kSilentSockets, "Install the plugin for this processor; the file may be cut off.");
  }
  if (path_not_taken(survey)) {
    return broken(
        fmt::format("{}, but NCCL {} looks for {}", survey.settings.shown("NCCL_NET_PLUGIN"),
                    text_of(software.nccl_version()), names),
        kSilentSockets,
        "NCCL before 2.21 and 2.27.3 take no paths. Use the bare name (libnccl-net-NAME.so "
        "is NAME) and put the folder into LD_LIBRARY_PATH.");
  }
  if (!software.uncached.empty()) {
    return broken(
        fmt::format("{} is there, but not in /etc/ld.so.cache", software.uncached.front()),
        kSilentSockets, "Run ldconfig (in an image: after copying the libraries).");
  }
  if (!software.other_plugins.empty()) {
    const Plugin& other = software.other_plugins.front();
    return broken(fmt::format("NCCL looks for {} and the loader finds none; there is {}", names,
                              other.file.path),
                  kSilentSockets,
                  "Add its folder to LD_LIBRARY_PATH, or set NCCL_NET_PLUGIN to its name "
                  "(libnccl-net-NAME.so is NAME).");
  }
  return broken(fmt::format("no net plugin: NCCL looks for {} and there is none", names),
                kSilentSockets,
                "Install fabrail (or the plugin that you mean to use) and set "
                "NCCL_NET_PLUGIN to its name.");
}

Findings check_found(const Survey& survey) {
  const Software& software = survey.software;
  if (software.plugin) {
    return fine(fmt::format("{} at {} (by {})", versioned(*software.plugin),
                            software.plugin->file.path, software.plugin->file.found_by));
  }
  if (!survey.expects_efa()) {
    return note("no net plugin is found, and none is needed without EFA");
  }
  if (software.plugin_disabled) {
    return broken(survey.settings.shown("NCCL_NET_PLUGIN") + " turns all net plugins off",
                  kSilentSockets, "Unset it, or name the plugin.");
  }
  return explain_absence(survey);
}

Findings check_kind(const Survey& survey) {
  const auto& plugin = survey.software.plugin;
  if (!plugin || !survey.expects_efa()) return {};
  if (plugin->kind == PluginKind::kFabrail || plugin->kind == PluginKind::kAwsOfiNccl) return {};
  const bool hpcx = plugin->kind == PluginKind::kHpcx;
  const std::string fact =
      fmt::format("NCCL takes {} at {}", name_of(plugin->kind), plugin->file.path);
  if (!hpcx) return note(fact, "It is not one that is known to drive EFA.");
  return broken(
      fact,
      "It drives InfiniBand, not EFA: NCCL falls back to sockets, or hangs when its peers "
      "have another plugin.",
      "Take the HPC-X folder out of LD_LIBRARY_PATH, or set NCCL_NET_PLUGIN to the plugin "
      "that you mean.");
}

Findings check_copies(const Survey& survey) {
  const auto& plugin = survey.software.plugin;
  if (!plugin) return {};
  std::vector<std::string> others;
  for (const Plugin& other : survey.software.other_plugins) {
    const bool same_kind = other.kind == plugin->kind;
    if (same_kind && other.version != plugin->version) {
      return warning(
          fmt::format("{} is used, but {} is installed too, at {}", versioned(*plugin),
                      versioned(other), other.file.path),
          "Another order of folders on one node gives ranks with different plugins, which hang.",
          "Keep one version in the image.");
    }
    others.push_back(other.file.path);
  }
  if (others.empty()) return {};
  return note(fmt::format("also installed, not used: {}", list_of(others, 3)));
}

/// The net ABI versions that an NCCL looks for.
struct AbiRange {
  int minor;  ///< from NCCL 2.minor on
  int oldest, newest;
};
constexpr std::array kAbiRanges = {
    AbiRange{4, 2, 2},   AbiRange{6, 3, 3},   AbiRange{8, 4, 4},   AbiRange{12, 4, 5},
    AbiRange{13, 4, 6},  AbiRange{19, 5, 7},  AbiRange{20, 5, 8},  AbiRange{24, 5, 9},
    AbiRange{26, 6, 10}, AbiRange{28, 6, 11}, AbiRange{30, 6, 12},
};

const AbiRange* abi_range(const Version& nccl) {
  const AbiRange* found = nullptr;
  for (const AbiRange& range : kAbiRanges) {
    if (nccl.at_least(2, range.minor)) found = &range;
  }
  return found;
}

std::string abi_list(const std::vector<int>& versions) {
  std::vector<std::string> names;
  for (const int version : versions) names.push_back(fmt::format("v{}", version));
  return join(names, ", ");
}

Findings check_abi(const Survey& survey) {
  const auto& plugin = survey.software.plugin;
  if (!plugin) return {};
  if (plugin->abi_versions.empty()) {
    return broken(fmt::format("{} exports no ncclNetPlugin symbol", plugin->file.path),
                  "NCCL opens it, finds nothing and goes on to sockets.",
                  "Reinstall the plugin; the file is something else.");
  }
  const auto nccl = survey.software.nccl_version();
  const AbiRange* range = nccl ? abi_range(*nccl) : nullptr;
  if (range == nullptr) return {};
  const auto& has = plugin->abi_versions;
  const bool fits = std::any_of(has.begin(), has.end(), [&](int version) {
    return version >= range->oldest && version <= range->newest;
  });
  if (fits) return fine(fmt::format("plugin speaks {}; NCCL {} fits", abi_list(has), nccl->text));
  return broken(fmt::format("plugin speaks {}, NCCL {} looks for v{} to v{}", abi_list(has),
                            nccl->text, range->oldest, range->newest),
                kSilentSockets, "Use a plugin of the age of this NCCL.");
}

Findings check_tuner(const Survey& survey) {
  const auto setting = survey.settings.value("NCCL_TUNER_PLUGIN");
  if (!setting || setting->empty() || lower(*setting) == "none") return {};
  const std::string fact = survey.settings.shown("NCCL_TUNER_PLUGIN");
  if (survey.software.tuner)
    return fine(fmt::format("{} is {}", fact, survey.software.tuner->path));
  return warning(fact + " leads to no file",
                 "NCCL goes on with its own tuning, without a word. Installers have moved the file "
                 "between releases.",
                 "Give the full path of the file, or unset it: the net plugin's own tuner is then "
                 "used, if it has one.");
}

bool is_aws(const Survey& survey) {
  return survey.software.plugin && survey.software.plugin->kind == PluginKind::kAwsOfiNccl;
}

std::optional<Version> aws_version(const Survey& survey) {
  return is_aws(survey) ? survey.software.plugin->version : std::nullopt;
}

std::string with_nccl(const Survey& survey) {
  return fmt::format("aws-ofi-nccl {} with NCCL {}", text_of(aws_version(survey)),
                     text_of(survey.software.nccl_version()));
}

Findings check_cumem(const Survey& survey) {
  const auto& installer = survey.software.efa_installer;
  const auto nccl = survey.software.nccl_version();
  if (!older_than(installer, 1, 29, 1) || !nccl || !nccl->at_least(2, 19)) return {};
  const std::string fact =
      fmt::format("EFA installer {} with NCCL {}", installer->text, nccl->text);
  if (survey.settings.value("FI_EFA_SET_CUDA_SYNC_MEMOPS") == "0") {
    return fine(fact + ", with FI_EFA_SET_CUDA_SYNC_MEMOPS=0");
  }
  return broken(fact,
                "From 2.19 NCCL's memory refuses an attribute that this libfabric sets: `Unable to "
                "register memory (type = 2) ... RC: -22`, CUDA_ERROR_NOT_SUPPORTED.",
                "Update the EFA installer to 1.29.1 or later, or set "
                "FI_EFA_SET_CUDA_SYNC_MEMOPS=0.");
}

Findings check_nccl_2_28(const Survey& survey) {
  const auto nccl = survey.software.nccl_version();
  if (!is_aws(survey) || !nccl || !nccl->at_least(2, 28)) return {};
  if (older_than(aws_version(survey), 1, 17, 2)) {
    return warning(with_nccl(survey),
                   "Before 1.17.2 a failing start of libfabric crashes the job with NCCL 2.28.",
                   "Use plugin 1.17.2 or later.");
  }
  const auto libfabric = survey.software.libfabric_version();
  if (libfabric && older_than(libfabric, 2, 0) && !contains(libfabric->text, "amzn")) {
    return warning(fmt::format("{} and libfabric {} that is not Amazon's build", with_nccl(survey),
                               libfabric->text),
                   "This combination has been reported to fail at start or to deadlock.",
                   "Use the EFA installer's libfabric.");
  }
  return {};
}

Findings check_installer_plugin(const Survey& survey) {
  const auto& installer = survey.software.efa_installer;
  if (!installer || !installer->at_least(1, 35)) return {};
  if (!older_than(aws_version(survey), 1, 12, 1)) return {};
  return warning(fmt::format("EFA installer {} with aws-ofi-nccl {}", installer->text,
                             aws_version(survey)->text),
                 "From 1.35 on NICs are listed in another order: before 1.12.1 the plugin crashes "
                 "or is slow.",
                 "Use plugin 1.12.1 or later.");
}

Findings check_own_tuner(const Survey& survey) {
  const auto plugin = aws_version(survey);
  const auto nccl = survey.software.nccl_version();
  if (!plugin || !plugin->at_least(1, 16) || plugin->at_least(1, 17)) return {};
  if (!older_than(nccl, 2, 21)) return {};
  return warning(with_nccl(survey),
                 "The plugin sets NCCL_PROTO itself and its first-generation tuner then refuses to "
                 "start: `NCCL Error 4: invalid argument` (seen with 1.16.2 and 2.20.5).",
                 "Use NCCL 2.21 or later, or NCCL_TUNER_PLUGIN=none.");
}

Findings check_plugin_libfabric(const Survey& survey) {
  const auto libfabric = survey.software.libfabric_version();
  const auto plugin = aws_version(survey);
  if (!libfabric || !plugin) return {};
  if (plugin->at_least(1, 21) && older_than(libfabric, 1, 22)) {
    return broken(fmt::format("aws-ofi-nccl {} with libfabric {}", plugin->text, libfabric->text),
                  "It refuses EFA with a libfabric before 1.22.",
                  "Put the EFA installer's libfabric first, or update it.");
  }
  if (contains(libfabric->text, "2.3.1amzn2")) {
    return warning(fmt::format("libfabric {}", libfabric->text),
                   "This build cuts the data of completions to 16 bits, which breaks the RDMA "
                   "protocol of plugins.",
                   "Use EFA installer 1.45.1 or later.");
  }
  return {};
}

Findings check_topology_age(const Survey& survey) {
  if (survey.type == nullptr || !older_than(aws_version(survey), 1, 11)) return {};
  const std::size_t gpus = survey.hardware.gpus().size();
  if (gpus == 0 || gpus >= static_cast<std::size_t>(survey.type->gpus)) return {};
  return warning(fmt::format("aws-ofi-nccl {} with {} of {} GPUs", aws_version(survey)->text, gpus,
                             survey.type->gpus),
                 "Before 1.11 the plugin hands NCCL a fixed topology of the whole machine: "
                 "`Attribute arch of node cpu not found`, an internal error.",
                 "Use plugin 1.11 or later.");
}

Findings check_async_errors(const Survey& survey) {
  const auto nccl = survey.software.nccl_version();
  if (!nccl || !nccl->at_least(2, 21) || nccl->at_least(2, 24)) return {};
  return note(fmt::format("NCCL {} loses errors of net plugins", nccl->text),
              "2.21 to 2.23 do not pass them on to ncclCommGetAsyncError: a job hangs where others "
              "end with an error.",
              "Use NCCL 2.24 or later, or FABRAIL_ABORT_ON_ERROR.");
}

Findings check_leaks(const Survey& survey) {
  if (!older_than(aws_version(survey), 1, 17, 3)) return {};
  return note(
      fmt::format("aws-ofi-nccl {} leaks host memory in long jobs", aws_version(survey)->text),
      "Fixed in 1.17.3, and more of it in 1.20.0 and 1.21.0.", "Update if ranks grow.");
}

constexpr std::array kChecks = {
    Check{"nccl.version", "Which NCCL does the job get?", check_nccl,
          "Looks for libnccl.so.2 as the loader does, then in Python environments (VIRTUAL_ENV, "
          "CONDA_PREFIX, /usr/lib/python3*, ...), and reads the version that the file carries."},
    Check{"plugin.found", "Does NCCL find a net plugin?", check_found,
          "Turns NCCL_NET_PLUGIN into file names as the NCCL at hand does (a bare name is the only "
          "form that works in every release) and looks for them as the loader does. Where none is "
          "found, tells whether ldconfig, the folder or the file is at fault."},
    Check{"plugin.kind", "Is it a plugin for EFA?", check_kind,
          "Recognises plugins by what their files contain. The HPC-X plugin in NGC images is found "
          "first under the plain name libnccl-net.so."},
    Check{
        "plugin.copies", "Are there several versions of the plugin?", check_copies,
        "Lists libnccl-net*.so in LD_LIBRARY_PATH, the folders of ld.so.conf and where installers "
        "put them; links to the same file count once."},
    Check{"plugin.abi", "Do plugin and NCCL speak the same ABI?", check_abi,
          "Compares the ncclNetPlugin_vN symbols that the plugin exports with those that this NCCL "
          "looks for."},
    Check{"plugin.tuner", "Does NCCL_TUNER_PLUGIN lead to a file?", check_tuner,
          "Resolves the value as NCCL does: verbatim, then as libnccl-tuner-NAME.so."},
    Check{"versions.cumem", "EFA installer before 1.29.1 with NCCL 2.19 or later?", check_cumem,
          "Reads the version in /opt/amazon/efa_installed_packages."},
    Check{"versions.nccl-2.28", "Does the plugin stand NCCL 2.28 and later?", check_nccl_2_28,
          "aws-ofi-nccl needs 1.17.2, and Amazon's build of libfabric."},
    Check{"versions.installer", "EFA installer 1.35 or later with an old plugin?",
          check_installer_plugin, "aws-ofi-nccl before 1.12.1 does not know the order of NICs."},
    Check{"versions.tuner", "Does the plugin's tuner refuse this NCCL?", check_own_tuner,
          "aws-ofi-nccl 1.16 with NCCL before 2.21."},
    Check{
        "versions.libfabric", "Is libfabric new enough for the plugin?", check_plugin_libfabric,
        "aws-ofi-nccl 1.21 and later need libfabric 1.22; 2.3.1amzn2 has a fault in completions."},
    Check{"versions.topology", "Does an old plugin see only some of the GPUs?", check_topology_age,
          "aws-ofi-nccl before 1.11 has fixed topology files for whole machines only."},
    Check{"versions.async-errors", "Does this NCCL pass on errors of plugins?", check_async_errors,
          "NCCL 2.21, 2.22 and 2.23 do not."},
    Check{"versions.leaks", "Does this plugin leak memory?", check_leaks,
          "aws-ofi-nccl before 1.17.3."},
};

}  // namespace

std::span<const Check> plugin_checks() { return kChecks; }

}  // namespace fabrail::doctor
