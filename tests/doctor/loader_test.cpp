// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
//
// The search for libraries: the order of places, inheritance, links, gaps; compared with ld.so.
#include <gtest/gtest.h>
#include <link.h>

#include <filesystem>
#include <set>
#include <string>

#include "src/cli/doctor/loader.h"
#include "src/cli/doctor/text.h"
#include "tests/doctor/fake_root.h"

namespace fabrail::doctor {
namespace {

LibrarySpec named(const std::string& soname, std::vector<std::string> needed = {}) {
  LibrarySpec spec;
  spec.soname = soname;
  spec.needed = std::move(needed);
  return spec;
}

std::string found_by(Loader& loader, const std::string& name, const std::string& caller = "") {
  const auto found = loader.find(name, caller);
  return found ? found->path + " by " + found->found_by : "nothing";
}

TEST(Loader, PrefersLibraryPathThenCacheThenDefaultFolders) {
  FakeRoot root;
  root.library("/lib64/liba.so", named("liba.so"));
  {
    const System system = root.system();
    Loader loader(system);
    EXPECT_EQ(found_by(loader, "liba.so"), "/lib64/liba.so by the default folders");
  }
  root.library("/cached/liba.so", named("liba.so"));
  root.write("/etc/ld.so.cache", make_ld_cache({{"liba.so", "/cached/liba.so"}}));
  {
    const System system = root.system();
    Loader loader(system);
    EXPECT_EQ(found_by(loader, "liba.so"), "/cached/liba.so by ld.so.cache");
  }
  root.library("/env/liba.so", named("liba.so"));
  root.environment["LD_LIBRARY_PATH"] = "/nowhere:/env";
  const System system = root.system();
  Loader loader(system);
  EXPECT_EQ(found_by(loader, "liba.so"), "/env/liba.so by LD_LIBRARY_PATH");
  EXPECT_EQ(loader.copies("liba.so").size(), 3u);
}

TEST(Loader, DoesNotLookIntoConfiguredFolders) {
  FakeRoot root;
  root.write("/etc/ld.so.conf", "include ld.so.conf.d/*.conf\n");
  root.write("/etc/ld.so.conf.d/x.conf", "/x # comment\n");
  root.library("/x/liba.so", named("liba.so"));
  const System system = root.system();
  Loader loader(system);
  EXPECT_EQ(found_by(loader, "liba.so"), "nothing");
  EXPECT_EQ(loader.configured_folders(), (std::vector<std::string>{"/x"}));
}

TEST(Loader, RpathBeforeAndRunpathAfterLibraryPath) {
  FakeRoot root;
  LibrarySpec with_rpath = named("libr.so", {"liba.so"});
  with_rpath.rpath = "$ORIGIN/own";
  LibrarySpec with_runpath = named("libn.so", {"liba.so"});
  with_runpath.runpath = "${ORIGIN}/own";
  root.library("/p/libr.so", with_rpath);
  root.library("/p/libn.so", with_runpath);
  root.library("/p/own/liba.so", named("liba.so"));
  root.library("/env/liba.so", named("liba.so"));
  root.environment["LD_LIBRARY_PATH"] = "/env";
  const System system = root.system();
  Loader loader(system);
  EXPECT_EQ(found_by(loader, "liba.so", "/p/libr.so"), "/p/own/liba.so by RPATH of /p/libr.so");
  EXPECT_EQ(found_by(loader, "liba.so", "/p/libn.so"), "/env/liba.so by LD_LIBRARY_PATH");
}

TEST(Loader, InheritsRpathButNotRunpath) {
  for (const bool rpath : {true, false}) {
    FakeRoot root;
    LibrarySpec top = named("libtop.so", {"libmid.so"});
    (rpath ? top.rpath : top.runpath) = "/own";
    root.library("/p/libtop.so", top);
    root.library("/own/libmid.so", named("libmid.so", {"libleaf.so"}));
    root.library("/own/libleaf.so", named("libleaf.so"));
    const System system = root.system();
    const Closure closure = Loader(system).load("/p/libtop.so");
    EXPECT_EQ(closure.missing.size(), rpath ? 0u : 1u);
    EXPECT_EQ(closure.objects.size(), rpath ? 3u : 2u);
  }
}

TEST(Loader, SkipsFilesOfOtherProcessorsAndGoesOn) {
  FakeRoot root;
  LibrarySpec other = named("liba.so");
  other.machine = EM_AARCH64;
  root.library("/one/liba.so", other);
  root.library("/two/liba.so", named("liba.so"));
  root.environment["LD_LIBRARY_PATH"] = "/one:/two";
  const System system = root.system();
  Loader loader(system);
  EXPECT_EQ(found_by(loader, "liba.so"), "/two/liba.so by LD_LIBRARY_PATH");
}

TEST(Loader, FollowsAbsoluteLinksInsideTheRoot) {
  FakeRoot root;
  root.library("/opt/liba.so.1.2", named("liba.so"));
  root.link("/lib64/liba.so", "/opt/liba.so.1.2");
  const System system = root.system();
  const auto found = Loader(system).find("liba.so");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->real, "/opt/liba.so.1.2");
}

TEST(Loader, ReportsVersionGapsWithWhatIsThere) {
  FakeRoot root;
  LibrarySpec plugin = named("libp.so", {"libfabric.so.1"});
  plugin.version_needs = {{"libfabric.so.1", "FABRIC_1.7"}};
  LibrarySpec fabric = named("libfabric.so.1");
  fabric.version_defs = {"FABRIC_1.0", "FABRIC_1.6", "OTHER_2"};
  root.library("/lib64/libp.so", plugin);
  root.library("/lib64/libfabric.so.1", fabric);
  const System system = root.system();
  const Closure closure = Loader(system).load("libp.so");
  ASSERT_EQ(closure.gaps.size(), 1u);
  EXPECT_EQ(closure.gaps[0].version, "FABRIC_1.7");
  EXPECT_EQ(closure.gaps[0].needed_by, "/lib64/libp.so");
  EXPECT_EQ(closure.gaps[0].provided, (std::vector<std::string>{"FABRIC_1.0", "FABRIC_1.6"}));
}

TEST(Loader, LibraryWithoutVersionsSatisfiesAll) {
  FakeRoot root;
  LibrarySpec plugin = named("libp.so", {"liba.so"});
  plugin.version_needs = {{"liba.so", "A_9"}};
  root.library("/lib64/libp.so", plugin);
  root.library("/lib64/liba.so", named("liba.so"));
  const System system = root.system();
  EXPECT_TRUE(Loader(system).load("libp.so").gaps.empty());
}

TEST(Loader, EndsOnCirclesOfNeeds) {
  FakeRoot root;
  root.library("/lib64/liba.so", named("liba.so", {"libb.so"}));
  root.library("/lib64/libb.so", named("libb.so", {"liba.so"}));
  const System system = root.system();
  EXPECT_EQ(Loader(system).load("liba.so").objects.size(), 2u);
}

TEST(Loader, EndsOnCirclesOfLinks) {
  FakeRoot root;
  root.link("/lib64/liba.so", "libb.so");
  root.link("/lib64/libb.so", "liba.so");
  const System system = root.system();
  EXPECT_FALSE(Loader(system).find("liba.so").has_value());
}

/// The objects that ld.so mapped for this process, links followed.
std::set<std::string> really_loaded() {
  std::set<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* set) {
        std::error_code error;
        const auto real = std::filesystem::canonical(object->dlpi_name, error);
        if (!error) static_cast<std::set<std::string>*>(set)->insert(real.string());
        return 0;
      },
      &files);
  return files;
}

TEST(Loader, AgreesWithLdSoOnThisProcess) {
  std::map<std::string, std::string, std::less<>> environment;
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) environment["LD_LIBRARY_PATH"] = path;
  const System system = System::below("/", environment);
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  const Closure closure = Loader(system).load(self);
  EXPECT_TRUE(closure.missing.empty());
  EXPECT_TRUE(closure.gaps.empty());
  std::set<std::string> predicted;
  for (const LoadedObject& object : closure.objects) {
    if (object.library.real != self) predicted.insert(object.library.real);
  }
  std::set<std::string> loaded = really_loaded();
  // The loader is in every process, whether or not an object needs it by name.
  for (std::set<std::string>* files : {&predicted, &loaded}) {
    std::erase_if(*files, [](const std::string& file) { return contains(file, "/ld-linux"); });
  }
  EXPECT_EQ(predicted, loaded);
}

}  // namespace
}  // namespace fabrail::doctor
