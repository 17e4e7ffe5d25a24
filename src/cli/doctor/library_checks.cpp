// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// Checks on the libraries below the plugin: what dlopen would stumble over, and which copies win.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "src/cli/doctor/checks.h"
#include "src/cli/doctor/emulation.h"
#include "src/cli/doctor/text.h"

namespace fabrail::doctor {

namespace {

constexpr const char* kLoadFails =
    "dlopen of the plugin fails, NCCL says so only with NCCL_DEBUG=INFO, and runs on sockets.";

Findings check_missing(const Survey& survey) {
  const auto& stack = survey.software.stack;
  if (!survey.software.plugin) return {};
  if (stack.missing.empty()) {
    return fine(fmt::format("all {} libraries of the plugin are found", stack.objects.size()));
  }
  std::vector<std::string> names;
  for (const MissingLibrary& one : stack.missing) {
    const std::string text = fmt::format("{} (needed by {})", one.name, one.needed_by);
    if (std::find(names.begin(), names.end(), text) == names.end()) names.push_back(text);
  }
  return broken(fmt::format("not found: {}", list_of(names, 3)), kLoadFails,
                "Install the packages that bring them into this image (a multi-stage build copies "
                "only what it is told to), or add their folder to LD_LIBRARY_PATH.");
}

/// The gaps whose version starts with one of `families`.
std::vector<VersionGap> gaps_of(const Survey& survey, std::initializer_list<const char*> families) {
  std::vector<VersionGap> found;
  for (const VersionGap& gap : survey.software.stack.gaps) {
    const bool wanted = std::any_of(families.begin(), families.end(), [&](const char* family) {
      return gap.version.starts_with(family);
    });
    if (wanted) found.push_back(gap);
  }
  return found;
}

std::string describe(const VersionGap& gap) {
  const std::string has = gap.provided.empty() ? "none of that family" : gap.provided.back();
  return fmt::format("{} needs {}, but {} has {}", gap.needed_by, gap.version, gap.library, has);
}

std::string provider_file(int abi) { return fmt::format("libefa-rdmav{}.so", abi); }

/// libibverbs loads its EFA driver by a name that carries the same number.
Findings check_provider(const Survey& survey) {
  const Software& software = survey.software;
  if (!software.verbs_abi) return {};
  const std::string wanted = provider_file(*software.verbs_abi);
  std::vector<std::string> names;
  for (const std::string& path : software.efa_providers) {
    if (path.ends_with("/" + wanted)) {
      return fine(fmt::format("libibverbs and libefa are of one build (private ABI {})",
                              *software.verbs_abi));
    }
    names.push_back(path);
  }
  const std::string there =
      names.empty() ? "there is none" : fmt::format("there is {}", list_of(names));
  return broken(fmt::format("{} loads {}; {}", software.libibverbs->path, wanted, there),
                "libibverbs then lists no EFA device at all, and everything goes over TCP.",
                "Install libibverbs and libefa from the same package set (rdma-core).");
}

Findings check_verbs_pair(const Survey& survey) {
  if (!survey.software.libibverbs) return {};
  const auto gaps = gaps_of(survey, {"IBVERBS_PRIVATE"});
  if (!gaps.empty()) {
    return broken(describe(gaps.front()),
                  "The two come from different builds of rdma-core, of which one shadows the other "
                  "(HPC-X brings its own). The plugin or libfabric does not load.",
                  "Put the folder of the EFA installer's libraries first, or remove the other "
                  "rdma-core from the search path.");
  }
  if (!survey.software.libefa || !survey.software.stack.missing.empty()) return {};
  return check_provider(survey);
}

Findings check_fabric_version(const Survey& survey) {
  const auto gaps = gaps_of(survey, {"FABRIC_"});
  if (gaps.empty()) return {};
  return broken(describe(gaps.front()), kLoadFails,
                "The plugin was built for a newer libfabric: put the EFA installer's first, or use "
                "a plugin built for the older one. fabrail runs with libfabric 1.17 and later.");
}

Findings check_glibc(const Survey& survey) {
  const auto gaps = gaps_of(survey, {"GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_"});
  if (gaps.empty()) return {};
  return broken(describe(gaps.front()), kLoadFails,
                "The library was built on a newer system than this image: use a build for this "
                "distribution, or a newer base image.");
}

Findings check_other_versions(const Survey& survey) {
  for (const VersionGap& gap : survey.software.stack.gaps) {
    const auto known =
        gaps_of(survey, {"IBVERBS_PRIVATE", "FABRIC_", "GLIBC_", "GLIBCXX_", "CXXABI_", "GCC_"});
    const bool is_known = std::any_of(known.begin(), known.end(), [&](const VersionGap& one) {
      return one.version == gap.version && one.needed_by == gap.needed_by;
    });
    if (is_known) continue;
    return broken(describe(gap), kLoadFails,
                  "An older copy of the library shadows the right one, or was never updated.");
  }
  return {};
}

Findings check_undefined(const Survey& survey) {
  const auto& undefined = survey.software.undefined;
  if (undefined.empty()) return {};
  return broken(fmt::format("undefined: {}", list_of(undefined, 2)), kLoadFails,
                "The library that should define it is of another build. Reinstall the plugin with "
                "the libraries that it was built against.");
}

Findings check_libfabric(const Survey& survey) {
  const Software& software = survey.software;
  if (!software.plugin || !survey.expects_efa()) return {};
  if (software.plugin->kind == PluginKind::kHpcx) return {};
  if (software.libfabric.empty()) {
    if (!software.stack.missing.empty()) return {};  // lib.missing names it
    return broken("no libfabric.so.1 is found, nor one in /opt/amazon/efa",
                  "Plugins reach EFA through it.",
                  "Run the EFA installer in the image (it can leave the kernel module out: "
                  "--skip-kmod).");
  }
  const LibfabricCopy& used = software.libfabric.front();
  const std::string fact = fmt::format("libfabric {} at {}", text_of(used.version), used.file.path);
  if (!used.has_efa) {
    return broken(fact + " was built without EFA", "It lists no EFA device; NCCL uses sockets.",
                  "Put the EFA installer's libfabric first in the search path.");
  }
  return fine(fact);
}

Findings check_libfabric_copies(const Survey& survey) {
  const auto& copies = survey.software.libfabric;
  if (copies.size() < 2) return {};
  const LibfabricCopy& used = copies.front();
  const bool amazon_used = used.file.real.starts_with("/opt/amazon/");
  for (const LibfabricCopy& other : copies) {
    if (&other == &used) continue;
    if (amazon_used || !other.file.real.starts_with("/opt/amazon/")) continue;
    return warning(fmt::format("libfabric {} at {} is taken before {} at {}", text_of(used.version),
                               used.file.path, text_of(other.version), other.file.path),
                   "A distribution's libfabric is older and has no CUDA: EFA devices appear, but "
                   "options or GPUDirect are missing.",
                   "Put /opt/amazon/efa/lib64 (or lib) first in LD_LIBRARY_PATH, or remove the "
                   "distribution's package.");
  }
  return note(fmt::format("{} of libfabric; {} is taken", fmt::format("{} copies", copies.size()),
                          used.file.path));
}

Findings check_libfabric_cuda(const Survey& survey) {
  const auto& copies = survey.software.libfabric;
  if (copies.empty() || !survey.expects_gpudirect() || copies.front().has_cuda) return {};
  if (has_emulated_nics(survey.system)) return {};
  const LibfabricCopy& used = copies.front();
  return broken(fmt::format("libfabric {} at {} was built without CUDA", text_of(used.version),
                            used.file.path),
                "It cannot register GPU memory, so GPUDirect is off however well the drivers are "
                "set up (`fi_info -c FI_HMEM` is empty).",
                "Use the EFA installer's libfabric.");
}

Findings check_cache(const Survey& survey) {
  if (survey.system.exists("/etc/ld.so.cache") || !survey.system.exists("/etc/ld.so.conf"))
    return {};
  if (!survey.is_image()) return {};
  return note("the image has no /etc/ld.so.cache",
              "The loader then looks only in LD_LIBRARY_PATH and the default folders.",
              "Run ldconfig at the end of the build.");
}

std::string short_version(const std::optional<Version>& version) {
  return version ? fmt::format("{}.{}", version->parts[0], version->parts[1]) : "none";
}

Findings check_gin(const Survey& survey) {
  const bool type_can = survey.type != nullptr && survey.type->efa_generation >= 3;
  if (!type_can || survey.hardware.gpus().empty()) return {};
  std::vector<std::string> lacks;
  if (older_than(survey.hardware.efa_driver, 3, 3)) lacks.push_back("efa driver 3.3.0");
  const std::string params = survey.system.read("/proc/driver/nvidia/params").value_or("");
  if (!contains(params, "PeerMappingOverride=1")) lacks.push_back("NVIDIA's PeerMappingOverride=1");
  const auto kernel_part =
      Version::parse(survey.system.line("/sys/module/gdrdrv/version").value_or(""));
  const auto& library = survey.software.libgdrapi;
  const auto user_part =
      library ? Version::parse(between(library->real, "libgdrapi.so.", "/").value_or(""))
              : std::nullopt;
  const auto enough = [](const auto& version) { return version && version->at_least(2, 5); };
  if (!enough(kernel_part) || !enough(user_part)) {
    lacks.push_back(fmt::format("GDRCopy 2.5 (gdrdrv {}, libgdrapi {})", short_version(kernel_part),
                                short_version(user_part)));
  }
  if (lacks.empty()) return fine("GPU-initiated networking has all it needs from the host");
  return note(
      fmt::format("for GPU-initiated networking (GIN) only: missing {}", join(lacks, ", ")));
}

/// FNV-1a over the beginning and the size of a file: different builds differ in both.
std::uint64_t mix_file(const Survey& survey, const std::string& path, std::uint64_t hash) {
  const auto host = survey.system.on_host(path);
  const auto source = host ? ByteSource::open(*host) : std::nullopt;
  if (!source) return hash;
  const auto start = source->text_at(0, std::min<std::uint64_t>(source->size(), 1 << 20));
  for (const char letter : start.value_or("") + std::to_string(source->size())) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
  }
  return hash;
}

Findings check_fingerprint(const Survey& survey) {
  const Software& software = survey.software;
  if (!software.plugin) return {};
  std::vector<std::string> files{software.plugin->file.real};
  if (!software.libfabric.empty()) files.push_back(software.libfabric.front().file.real);
  if (software.libibverbs) files.push_back(software.libibverbs->real);
  if (software.libefa) files.push_back(software.libefa->real);
  if (!software.nccl.empty()) files.push_back(software.nccl.front().file.real);
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::string& file : files) hash = mix_file(survey, file, hash);
  return fine(fmt::format("{:016x} stands for these {} libraries: equal on nodes of one job", hash,
                          files.size()));
}

constexpr std::array kChecks = {
    Check{"lib.missing", "Are all libraries of the plugin there?", check_missing,
          "Follows DT_NEEDED from the plugin on (and from libfabric, which fabrail opens itself), "
          "searching as ld.so(8) does: RPATH, LD_LIBRARY_PATH, RUNPATH, ld.so.cache, default "
          "folders. Nothing is executed. glibc-hwcaps folders are not searched."},
    Check{"lib.verbs-pair", "Are libibverbs and libefa of one build?", check_verbs_pair,
          "libefa needs the symbol version IBVERBS_PRIVATE_n of the libibverbs that it was built "
          "with, and libibverbs opens libefa-rdmavN.so by number."},
    Check{"lib.fabric-version", "Is libfabric as new as the plugin needs?", check_fabric_version,
          "Compares the FABRIC_x symbol versions that the plugin needs with those that the "
          "libfabric at hand defines."},
    Check{"lib.glibc", "Is the C or C++ library new enough?", check_glibc,
          "The same for GLIBC_x, GLIBCXX_x, CXXABI_x and GCC_x."},
    Check{"lib.symbol-versions", "Do other symbol versions fit?", check_other_versions,
          "The same for all others, for example EFA_1.4 or IBVERBS_1.14."},
    Check{"lib.undefined", "Does every symbol have a definition?", check_undefined,
          "NCCL opens plugins with RTLD_NOW, so one undefined symbol is enough to fail. Looked at "
          "only when no library and no version is missing."},
    Check{"lib.libfabric", "Which libfabric is used, and can it drive EFA?", check_libfabric,
          "Finds the version and the EFA provider in the file itself."},
    Check{"lib.libfabric-copies", "Does another libfabric shadow EFA's?", check_libfabric_copies,
          "Lists libfabric.so.1 in all places that the loader searches, and in /opt/amazon/efa."},
    Check{"lib.libfabric-cuda", "Can this libfabric register GPU memory?", check_libfabric_cuda,
          "Looks for the names of CUDA driver functions in the file. Distribution packages are "
          "built without."},
    Check{"lib.cache", "Was ldconfig run in this image?", check_cache,
          "Looks for /etc/ld.so.cache."},
    Check{"lib.gin", "Could GPU-initiated networking start?", check_gin,
          "On types with EFA generation 3 and later: efa driver 3.3.0, PeerMappingOverride=1 in "
          "/proc/driver/nvidia/params, GDRCopy 2.5 in both gdrdrv and libgdrapi."},
    Check{
        "lib.fingerprint", "Do all nodes have the same libraries?", check_fingerprint,
        "Hashes size and first MiB of the plugin, libfabric, libibverbs, libefa and NCCL. Compare "
        "the number between nodes."},
};

}  // namespace

std::span<const Check> library_checks() { return kChecks; }

}  // namespace fabrail::doctor
