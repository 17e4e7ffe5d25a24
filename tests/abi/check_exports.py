# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
"""Checks what the plugin shows to the loader.

Its dynamic symbols are NCCL's entry points and nothing else, so that it can meet no other library's symbols in a
process; it stays mapped once loaded; and with --needs-libc-alone it needs no library but libc.

check_exports.py [--needs-libc-alone] LIBRARY
"""
import argparse
import re
import subprocess
import sys

EXPORTS = {f"ncclNetPlugin_v{version}" for version in range(6, 13)}
# The loader itself may be named beside libc (__tls_get_addr is its symbol).
LIBC = re.compile(r"libc\.so\.6|ld-linux[\w.-]*\.so\.\d+")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported_symbols(library):
    lines = output_of("nm", "--dynamic", "--defined-only", "--format=posix", library).splitlines()
    return {line.split()[0] for line in lines}


def export_problems(library):
    exported = exported_symbols(library)
    yield from (f"exports {name}, which is not NCCL's" for name in sorted(exported - EXPORTS))
    yield from (f"does not export {name}" for name in sorted(EXPORTS - exported))


def flag_problems(dynamic_section):
    if not re.search(r"\(FLAGS_1\).*\bNODELETE\b", dynamic_section):
        yield "is not linked with -z nodelete"


def needed_problems(dynamic_section):
    for needed in re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic_section):
        if not LIBC.fullmatch(needed):
            yield f"needs {needed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--needs-libc-alone", action="store_true")
    arguments = parser.parse_args()
    dynamic_section = output_of("readelf", "--dynamic", "--wide", arguments.library)
    problems = [*export_problems(arguments.library), *flag_problems(dynamic_section)]
    if arguments.needs_libc_alone:
        problems += needed_problems(dynamic_section)
    for problem in problems:
        print(f"{arguments.library} {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
