#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright the fabrail authors
"""Write hwloc 2.x XML topologies that resemble EC2 GPU instances.

Nothing here was dumped from a machine: the files are made from a few tables of
facts (bus numbers, ids, NUMA node, link rates). Functions marked INFERRED guess
the layout or the bus numbers.  Usage: gen.py [outdir]
"""
import sys, os
from xml.sax.saxutils import quoteattr

GB = 1 << 30
# hwloc link rates in GB/s: lanes * GT/s * 128/130 / 8
def rate(gt, lanes):
    return lanes * gt * 128.0 / 130.0 / 8.0
G3x8, G3x16 = rate(8, 8), rate(8, 16)
G4x8, G4x16 = rate(16, 8), rate(16, 16)
G5x8, G5x16 = rate(32, 8), rate(32, 16)
G6x16 = rate(64, 16)


class Xml:
    def __init__(self):
        self.lines, self.gp, self.ind = [], 0, 1

    def open(self, typ, **kw):
        self.gp += 1
        attrs = ''.join(f' {k}={quoteattr(str(v))}' for k, v in kw.items() if v is not None)
        self.lines.append(f'{"  "*self.ind}<object type="{typ}" gp_index="{self.gp}"{attrs}>')
        self.ind += 1

    def close(self):
        self.ind -= 1
        self.lines.append(f'{"  "*self.ind}</object>')

    def info(self, k, v):
        self.lines.append(f'{"  "*self.ind}<info name={quoteattr(k)} value={quoteattr(v)}/>')


def mask(ids):
    v = 0
    for i in ids:
        v |= 1 << i
    words = []
    while True:
        words.append(v & 0xffffffff)
        v >>= 32
        if not v:
            break
    return ','.join('0x%08x' % w for w in reversed(words))


# ---- I/O description -------------------------------------------------------
def dev(busid, cls, ven, did, sub, rev, speed, os_=()):
    return ('dev', busid, cls, ven, did, sub, rev, speed, tuple(os_))

def bridge(busid, lo, hi, speed, kids):
    return ('br', busid, lo, hi, speed, kids)

def hostbridge(lo, hi, kids):
    return ('hb', lo, hi, kids)

def b2(n):
    return '%02x' % n

def rdma(busid):
    # rdma-core persistent name: rdmap<bus decimal>s<slot decimal>
    b, rest = busid.split(':')
    return 'rdmap%ds%d' % (int(b, 16), int(rest.split('.')[0], 16))

def efa(busid, gen, speed):
    i = 'efa%d' % gen
    return dev(busid, '0200', '1d0f', i, '1d0f:' + i, 0, speed, [('3', rdma(busid))])

def ena(busid, name):
    return dev(busid, '0200', '1d0f', 'ec20', '1d0f:ec20', 0, 0.0, [('2', name)])

def gpu(busid, did, sub, speed):
    return dev(busid, '0302', '10de', did, sub, 0xa1, speed)

def nvme(busid, n):
    return dev(busid, '0108', '1d0f', 'cd01', '1d0f:0000', 0, 0.0, [('0', 'nvme%dn1' % n)])


def emit_io(x, n, depth):
    if n[0] == 'hb':
        _, lo, hi, kids = n
        x.open('Bridge', bridge_type='0-1', depth=0, bridge_pci=f'0000:[{b2(lo)}-{b2(hi)}]')
        for k in kids:
            emit_io(x, k, 1)
        x.close()
    elif n[0] == 'br':
        _, busid, lo, hi, speed, kids = n
        x.open('Bridge', bridge_type='1-1', depth=depth, bridge_pci=f'0000:[{b2(lo)}-{b2(hi)}]',
               pci_busid='0000:' + busid, pci_type='0604 [1d0f:0200] [1d0f:0200] 00',
               pci_link_speed='%f' % speed)
        for k in kids:
            emit_io(x, k, depth + 1)
        x.close()
    else:
        _, busid, cls, ven, did, sub, rev, speed, osd = n
        x.open('PCIDev', pci_busid='0000:' + busid,
               pci_type=f'{cls} [{ven}:{did}] [{sub}] {rev:02x}', pci_link_speed='%f' % speed)
        for t, nm in osd:
            x.open('OSDev', name=nm, osdev_type=t)
            x.close()
        x.close()


def machine(path, product, numa, root_io=(), distances=True):
    """numa: list of (cores, [pu list], mem bytes, [io nodes]); one package each."""
    x = Xml()
    allpu = [p for c in numa for p in c[1]]
    allcs, allns = mask(allpu), mask(range(len(numa)))
    sets = lambda cs, ns: dict(cpuset=cs, complete_cpuset=cs, nodeset=ns, complete_nodeset=ns)
    x.open('Machine', os_index=0, **sets(allcs, allns), allowed_cpuset=allcs, allowed_nodeset=allns)
    x.info('DMIProductName', product)
    x.info('DMISysVendor', 'Amazon EC2')
    x.info('Backend', 'hand-written')
    for i, (ncores, pus, mem, io) in enumerate(numa):
        cs, ns = mask(pus), mask([i])
        x.open('Package', os_index=i, **sets(cs, ns))
        x.open('NUMANode', os_index=i, **sets(cs, ns), local_memory=mem)
        x.close()
        per = len(pus) // ncores
        for c in range(ncores):
            cpu = [pus[c + t * ncores] for t in range(per)]
            ccs = mask(cpu)
            x.open('Core', os_index=i * ncores + c, **sets(ccs, ns))
            for p in cpu:
                x.open('PU', os_index=p, **sets(mask([p]), ns))
                x.close()
            x.close()
        for n in io:
            emit_io(x, n, 0)
        x.close()
    for n in root_io:
        emit_io(x, n, 0)
    x.close()
    n = len(numa)
    if distances and n > 1:
        idx = ' '.join(str(i) for i in range(n))
        val = ' '.join('10' if a == b else '21' for a in range(n) for b in range(n))
        x.lines.append(f'  <distances2 type="NUMANode" nbobjs="{n}" kind="5" name="NUMALatency" indexing="os">')
        x.lines.append(f'    <indexes length="{len(idx)}">{idx}</indexes>')
        x.lines.append(f'    <u64values length="{len(val)}">{val}</u64values>')
        x.lines.append('  </distances2>')
    with open(path, 'w') as f:
        f.write('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
                '<topology version="2.0">\n' + '\n'.join(x.lines) + '\n</topology>\n')


def legacy_bus():
    """Root bus 00 of every Nitro guest: a VGA function with a display class but Amazon's vendor id, and the EBS disk."""
    return [hostbridge(0, 0, [dev('00:03.0', '0300', '1d0f', '1111', '0000:0000', 0, 0.0),
                              dev('00:04.0', '0108', '1d0f', '8061', '1d0f:0000', 0, 0.0, [('0', 'nvme0n1')])])]


def two_sockets(cores, io0, io1, mem):
    """EC2 numbering: first half of the vCPUs are thread 0 of every core, second half thread 1."""
    a = list(range(0, cores)) + list(range(2 * cores, 3 * cores))
    b = list(range(cores, 2 * cores)) + list(range(3 * cores, 4 * cores))
    return [(cores, a, mem, io0), (cores, b, mem, io1)]


# ---- the machines ----------------------------------------------------------
def p4(path, product, did, sub):
    # The guest sees NO PCIe switch: NIC, two GPUs and two disks sit flat on one root bus.
    def bus(b, e, k):
        h = b2(b)
        return hostbridge(b, b, [ena(h + (':00.0' if b == 0x10 else ':01.0'), e), efa(h + ':1b.0', 0, 0.0),
                                 gpu(h + ':1c.0', did, sub, G4x16), gpu(h + ':1d.0', did, sub, G4x16),
                                 nvme(h + ':1e.0', k), nvme(h + ':1f.0', k + 1)])
    nvsw = [dev('80:%02x.0' % d, '0680', '10de', '1af1', '10de:125e', 0xa1, 0.0) for d in range(0x1a, 0x20)]
    machine(path, product, two_sockets(24, [bus(0x10, 'ens32', 1), bus(0x20, 'ens65', 3)],
            [hostbridge(0x80, 0x80, nvsw), bus(0x90, 'ens129', 5), bus(0xa0, 'ens161', 7)], 576 * GB), legacy_bus())


def switch_port_maker(up):
    """Downstream ports of the switch whose internal bus is `up`: 00.0, 00.1 .. 00.7, 01.0 .."""
    def port(idx, lo, speed, child):
        return bridge('%02x:%02x.%d' % (up, idx // 8, idx % 8), lo, lo, speed, [child])
    return port


def p5(path, product, did, sub):
    # 8 switches, each: 4 ENA, 4 EFA (Gen4 x8), 1 GPU (Gen5 x16), 1 NVMe.  EFA ports 01.0-01.3, GPU port 01.4
    def sw(root, first_efa, k):
        port = switch_port_maker(root + 2)
        kids = [port(i, root + 3 + i, G4x8, ena(b2(root + 3 + i) + ':00.0', 'enp%ds0' % (root + 3 + i)))
                for i in range(4)]
        kids += [port(8 + i, first_efa + i, G4x8, efa(b2(first_efa + i) + ':00.0', 1, G4x8)) for i in range(4)]
        kids += [port(12, first_efa + 4, G5x16, gpu(b2(first_efa + 4) + ':00.0', did, sub, G5x16))]
        kids += [port(13, first_efa + 5, G4x8, nvme(b2(first_efa + 5) + ':00.0', k))]
        hi = first_efa + 5
        return hostbridge(root, hi, [bridge(b2(root) + ':00.0', root + 1, hi, G4x8,
                                            [bridge(b2(root + 1) + ':00.0', root + 2, hi, G4x8, kids)])])
    n0 = [sw(0x44, 0x4f, 1), sw(0x55, 0x60, 2), sw(0x66, 0x71, 3), sw(0x77, 0x82, 4)]
    n1 = [sw(0x88, 0x93, 5), sw(0x99, 0xa4, 6), sw(0xaa, 0xb5, 7), sw(0xbb, 0xc6, 8)]
    machine(path, product, two_sockets(48, n0, n1, 1000 * GB), legacy_bus())


def p5en(path, product, did, sub):
    # 4 switches, each: 4 ENA, 4 EFA (Gen5 x8), 2 GPU (Gen5 x16), 2 NVMe.  EFA ports 01.6-02.1, GPU ports 02.2-02.3
    def sw(root, first_efa, k):
        port = switch_port_maker(root + 2)
        kids = [port(i, root + 3 + i, G5x16, ena(b2(root + 3 + i) + ':00.0', 'enp%ds0' % (root + 3 + i)))
                for i in range(4)]
        kids += [port(14 + i, first_efa + i, G5x8, efa(b2(first_efa + i) + ':00.0', 2, G5x8)) for i in range(4)]
        kids += [port(18 + i, first_efa + 4 + i, G5x16, gpu(b2(first_efa + 4 + i) + ':00.0', did, sub, G5x16))
                 for i in range(2)]
        kids += [port(20 + i, first_efa + 6 + i, G4x8, nvme(b2(first_efa + 6 + i) + ':00.0', k + i)) for i in range(2)]
        hi = first_efa + 7
        return hostbridge(root, hi, [bridge(b2(root) + ':00.0', root + 1, hi, G5x16,
                                            [bridge(b2(root + 1) + ':00.0', root + 2, hi, G5x16, kids)])])
    machine(path, product, two_sockets(48, [sw(0x44, 0x55, 1), sw(0x5d, 0x6e, 3)],
                                       [sw(0x76, 0x87, 5), sw(0x8f, 0xa0, 7)], 1000 * GB), legacy_bus())


def p6b200(path, product, did, sub):
    # 4 switches, each 2 EFA (Gen5 x16) and 2 GPU.  The third also carries two 15b3 "ibp" functions (NVLink
    # management), which look like RDMA devices but are not EFA.
    def sw(root, efas, gpus, hi, ibs=()):
        port = switch_port_maker(root + 2)
        kids = [port(0, root + 3, G5x16, ena(b2(root + 3) + ':00.0', 'enp%ds0' % (root + 3)))]
        leaf = [(b, efa(b2(b) + ':00.0', 3, G5x16)) for b in efas]
        leaf += [(b, dev(b2(b) + ':00.0', '0207', '15b3', '1021', '15b3:0087', 0, G5x16, [('3', 'ibp%ds0' % b)]))
                 for b in ibs]
        leaf += [(b, gpu(b2(b) + ':00.0', did, sub, G5x16)) for b in gpus]
        kids += [port(8 + i, b, G5x16, d) for i, (b, d) in enumerate(leaf)]
        return hostbridge(root, hi, [bridge(b2(root) + ':00.0', root + 1, hi, G5x16,
                                            [bridge(b2(root + 1) + ':00.0', root + 2, hi, G5x16, kids)])])
    machine(path, product, two_sockets(48,
            [sw(0x44, (0x4f, 0x50), (0x51, 0x52), 0x54), sw(0x55, (0x60, 0x61), (0x62, 0x63), 0x65)],
            [sw(0x66, (0x71, 0x72), (0x75, 0x76), 0x78, (0x73, 0x74)),
             sw(0x79, (0x84, 0x85), (0x86, 0x87), 0x89)], 1000 * GB), legacy_bus())


def p6b300(path, product, did, sub):
    # INFERRED.  8 switches, each 2 EFA and 1 GPU; only the GPUs' buses are known.
    def sw(gpu_bus):
        root = gpu_bus - 6
        port = switch_port_maker(root + 2)
        kids = [port(0, root + 3, G5x16, ena(b2(root + 3) + ':00.0', 'enp%ds0' % (root + 3)))]
        kids += [port(8 + i, b, G5x16, efa(b2(b) + ':00.0', 3, G5x16))
                 for i, b in enumerate((gpu_bus - 2, gpu_bus - 1))]
        kids += [port(10, gpu_bus, G6x16, gpu(b2(gpu_bus) + ':00.0', did, sub, G6x16))]
        return hostbridge(root, gpu_bus, [bridge(b2(root) + ':00.0', root + 1, gpu_bus, G5x16,
                                                 [bridge(b2(root + 1) + ':00.0', root + 2, gpu_bus, G5x16, kids)])])
    machine(path, product, two_sockets(48, [sw(b) for b in (0x58, 0x67, 0x76, 0x85)],
                                       [sw(b) for b in (0x94, 0xa3, 0xb2, 0xc1)], 1000 * GB), legacy_bus())


def g6(path, product):
    # The NIC behind its own three-level switch, each GPU behind its own root port, so that NIC and GPU never share a
    # switch.  The GPUs' links have slowed down, as those of idle GPUs do.
    def g(root):
        return hostbridge(root, root + 1, [bridge(b2(root) + ':00.0', root + 1, root + 1, 2.0,
                                                  [gpu(b2(root + 1) + ':00.0', '27b8', '10de:16ca', 2.0)])])
    port = switch_port_maker(0x86)
    nic = hostbridge(0x84, 0x96, [bridge('84:00.0', 0x85, 0x96, G4x16, [bridge('85:00.0', 0x86, 0x96, G4x16, [
        port(0, 0x87, G4x16, ena('87:00.0', 'enp135s0')), port(15, 0x96, G4x16, efa('96:00.0', 1, 0.0))])])])
    machine(path, product, two_sockets(48, [nic] + [g(b) for b in (0x9e, 0xa0, 0xa2, 0xa4)],
                                       [g(b) for b in (0xad, 0xaf, 0xb1, 0xb3)], 375 * GB), legacy_bus())


def g6e(path, product):
    # INFERRED.  g6.48xlarge is known: the NIC behind its own 3-level switch, each GPU behind its own root
    # port, so GPU-NIC is always across host bridges.  g6e.48xlarge has 4 network cards and 8 L40S; here two
    # EFA per NUMA node are put on that node's network switch.  Bus numbers are invented.
    def nics(root, efas, nodes_ena):
        port = switch_port_maker(root + 2)
        kids = [port(0, root + 3, G4x16, ena(b2(root + 3) + ':00.0', nodes_ena))]
        kids += [port(15 + i, b, G4x16, efa(b2(b) + ':00.0', 1, 0.0)) for i, b in enumerate(efas)]
        hi = efas[-1]
        return hostbridge(root, hi, [bridge(b2(root) + ':00.0', root + 1, hi, G4x16,
                                            [bridge(b2(root + 1) + ':00.0', root + 2, hi, G4x16, kids)])])
    def g(root):
        return hostbridge(root, root + 1, [bridge(b2(root) + ':00.0', root + 1, root + 1, G4x16,
                                                  [gpu(b2(root + 1) + ':00.0', '26b9', '10de:1851', G4x16)])])
    n0 = [nics(0x84, (0x95, 0x96), 'enp135s0')] + [g(0x9e + 2 * i) for i in range(4)]
    n1 = [nics(0xb8, (0xc9, 0xca), 'enp187s0')] + [g(0xad + 2 * i) for i in range(4)]
    machine(path, product, two_sockets(48, n0, n1, 750 * GB), legacy_bus())


def flat(path, product, cores, did, sub, efa_gen, efa_dev, gpu_devs, mem):
    # p3dn / g5.48xlarge: one root bus, hung from the Machine (no NUMA information at all)
    kids = [dev('00:03.0', '0300', '1d0f', '1111', '0000:0000', 0, 0.0), ena('00:05.0', 'ens5'), efa('00:%02x.0' % efa_dev, efa_gen, 0.0)]
    kids += [gpu('00:%02x.0' % d, did, sub, G3x16) for d in gpu_devs]
    machine(path, product, two_sockets(cores, [], [], mem), root_io=[hostbridge(0, 0, kids)])


if __name__ == '__main__':
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    j = lambda n: os.path.join(out, n)
    p4(j('p4d.24xlarge.xml'), 'p4d.24xlarge', '20b0', '10de:134f')
    p5(j('p5.48xlarge.xml'), 'p5.48xlarge', '2330', '10de:16c1')
    p5en(j('p5en.48xlarge.xml'), 'p5en.48xlarge', '2335', '10de:18be')
    p6b200(j('p6-b200.48xlarge.xml'), 'p6-b200.48xlarge', '2901', '10de:1999')
    g6e(j('g6e.48xlarge.xml'), 'g6e.48xlarge')
    flat(j('p3dn.24xlarge.xml'), 'p3dn.24xlarge', 24, '1db5', '10de:1249', 0, 0x15, range(0x16, 0x1e), 384 * GB)
    flat(j('g5.48xlarge.xml'), 'g5.48xlarge', 48, '2237', '10de:152f', 0, 0x15, range(0x16, 0x1e), 384 * GB)
    p6b300(j('p6-b300.48xlarge.xml'), 'p6-b300.48xlarge', '3182', '10de:20e6')
    g6(j('g6.48xlarge.xml'), 'g6.48xlarge')
