// SPDX-License-Identifier: Apache-2.0
// Copyright the fabrail authors
#include "tests/topology/temporary.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace fabrail::topology::testing {

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = fs::path(::testing::TempDir()) / "fabrail-topology-XXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
    EXPECT_FALSE(path_.empty()) << "no temporary folder " << name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

std::string temporary_file(const std::string& name, const std::string& text) {
  static const Folder folder;
  fs::path path = folder.path() / name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace fabrail::topology::testing
