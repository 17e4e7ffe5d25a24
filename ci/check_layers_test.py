# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
"""Tests of ci/check_layers: it finds what it is there to find, and nothing else."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "check_layers"


def check(files):
    """The lines that ci/check_layers prints for a tree of `files` (name to text)."""
    with tempfile.TemporaryDirectory() as tree:
        for name, text in files.items():
            path = pathlib.Path(tree, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return subprocess.run([SCRIPT, tree], capture_output=True, text=True, check=False).stdout.splitlines()


class CheckLayers(unittest.TestCase):
    def assert_accepted(self, files):
        self.assertEqual(check(files), ["layers: ok"])

    def assert_found(self, files, place):
        found = check(files)
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(place + ": "), found)

    def test_accepts_a_lower_layer_and_include(self):
        self.assert_accepted({
            "include/nccl_net_abi.h": "",
            "src/base/result.h": "",
            "src/fabric/domain.h": '#include <rdma/fabric.h>\n#include "src/base/result.h"\n',
            "plugin/net_api.cpp": '#include "include/nccl_net_abi.h"\n#include "src/fabric/domain.h"\n',
        })

    def test_finds_a_higher_layer_below(self):
        self.assert_found({"plugin/a.h": "", "src/base/b.h": '\n#include "plugin/a.h"\n'}, "src/base/b.h:2")

    def test_finds_a_sibling(self):
        self.assert_found({"src/gpu/a.h": "", "src/fabric/b.cpp": '#include "src/gpu/a.h"\n'}, "src/fabric/b.cpp:1")

    def test_finds_a_test_header_in_the_product(self):
        self.assert_found({"tests/a.h": "", "plugin/b.cpp": '#include "tests/a.h"\n'}, "plugin/b.cpp:1")

    def test_finds_a_path_that_is_not_from_the_root(self):
        self.assert_found({"src/base/a.h": "", "src/base/b.h": '#include "a.h"\n'}, "src/base/b.h:1")

    def test_finds_libfabric_outside_of_fabric(self):
        self.assert_found({"plugin/a.cpp": "#include <rdma/fi_errno.h>\n"}, "plugin/a.cpp:1")

    def test_accepts_libfabric_in_the_raw_benchmark(self):
        self.assert_accepted({"src/cli/perf/raw_latency.cpp": "#include <rdma/fabric.h>\n"})

    def test_finds_hwloc_outside_of_topology(self):
        self.assert_found({"src/cli/topo.cpp": "#include <hwloc.h>\n"}, "src/cli/topo.cpp:1")

    def test_finds_plugin_internals_in_perf(self):
        self.assert_found(
            {"src/transport/a.h": "", "src/cli/perf/b.cpp": '#include "src/transport/a.h"\n'}, "src/cli/perf/b.cpp:1")

    def test_finds_getenv_even_when_it_is_not_called(self):
        self.assert_found({"src/base/config.cpp": "auto get = &std::getenv;\n"}, "src/base/config.cpp:1")

    def test_accepts_getenv_in_the_instance(self):
        self.assert_accepted({"plugin/instance.cpp": 'auto v = std::getenv("A");\n'})

    def test_finds_abort_and_exit(self):
        for call in ("abort()", "std::exit(1)", "_exit(1)", "std::terminate ()"):
            with self.subTest(call):
                self.assert_found({"topology/a.cpp": f"void f() {{\n  {call};\n}}\n"}, "topology/a.cpp:2")

    def test_lets_one_file_raise(self):
        self.assert_found({"plugin/instance.cpp": "void f() { raise(6); }\n"}, "plugin/instance.cpp:1")
        self.assert_accepted({"plugin/last_resort.cpp": "void f() { raise(6); }\n"})

    def test_finds_fences_outside_of_their_file(self):
        for fence in ("std::atomic_thread_fence(o)", "_mm_sfence()", "__sync_synchronize()", 'asm volatile("dmb ish")',
                      '__asm__("")'):
            with self.subTest(fence):
                self.assert_found({"src/gpu/a.cpp": f"void f() {{ {fence}; }}\n"}, "src/gpu/a.cpp:1")
                self.assert_accepted({"src/transport/fences.h": f"inline void f() {{ {fence}; }}\n"})

    def test_ignores_comments_and_strings(self):
        self.assert_accepted({"src/base/a.cpp": '// abort()\n/* exit(1)\n getenv */ auto s = "exit(1) \\" abort()";\n'})

    def test_ignores_names_that_only_contain_such_words(self):
        self.assert_accepted({"src/base/a.cpp": "void on_abort(); void atexit_hook(); int is_exit(int);\n"})


if __name__ == "__main__":
    unittest.main()
