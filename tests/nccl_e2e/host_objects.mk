# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
#
# Read by make in NCCL's src folder: NCCL's own rules, of which only those for host code are run.
include Makefile

.PHONY: host-objects
host-objects: $(INCTARGETS) $(LIBOBJ)
	rm -f $(BUILDDIR)/libnccl_host.a
	ar cr $(BUILDDIR)/libnccl_host.a $(LIBOBJ)
