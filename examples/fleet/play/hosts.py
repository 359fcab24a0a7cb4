# SPDX-License-Identifier: Apache-2.0
"""Two servers on this machine, a keeper and a courier each. Couriers know each other by certificates, and carry KV from
every engine of one server to every engine of the other.

Where this user is root, each server is a network namespace: the couriers' link is the only way between the two, and the
router has one to each. Elsewhere they are two sets of daemons on the loopback."""
import json
import os
import pathlib
import shutil
import subprocess

from play.members import free_port
from play.process import Child, call, samples, show

CERTIFICATES = pathlib.Path(__file__).resolve().parents[3] / "tools/courier/system/aqua-courier-certificates"
HOSTS = 2
PARCELS = 16  # on their way over one connection
PORT = 7451
POOLS = {"fleet": "abcdefgh", "measured": "xy"}  # what couriers carry, and whose


def host_of(letter):
    """Engines are dealt out in turns."""
    return next(letters.index(letter) for letters in POOLS.values() if letter in letters) % HOSTS


def is_between(move):
    return host_of(move["from"]) != host_of(move["to"])


class Namespaces:
    """As many as there are servers, each with a link to this one, and a link between them."""

    def __init__(self):
        self.names = [f"aqua-fleet-{os.getpid()}-{host}" for host in range(HOSTS)]
        self.net = 2 * (os.getpid() % 120)  # of 10.98: other runs have others

    def make(self):
        for host, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            here = f"aqf{os.getpid() % 100_000}h{host}"
            ip("link", "add", here, "type", "veth", "peer", "name", "router", "netns", name)
            self.up(None, here, f"10.98.{self.net + host}.1")
            self.up(name, "router", self.address(host))
        ip("-n", self.names[0], "link", "add", "link0", "type", "veth", "peer", "name", "link0", "netns", self.names[1])
        for host, name in enumerate(self.names):
            self.up(name, "link0", self.peer_address(host))

    def up(self, name, link, address):
        within = ("-n", name) if name else ()
        ip(*within, "address", "add", f"{address}/24", "dev", link)
        ip(*within, "link", "set", link, "up")

    def remove(self):
        for name in self.names:
            subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)

    def within(self, host):
        return ("ip", "netns", "exec", self.names[host])

    def address(self, host):
        """Where the router finds it."""
        return f"10.98.{self.net + host}.2"

    def peer_address(self, host):
        """Where the other server finds it."""
        return f"10.97.0.{1 + host}"

    def port(self, host):
        return PORT

    def crossed(self):
        """Bytes that came over the link between them."""
        counter = "/sys/class/net/link0/statistics/rx_bytes"
        return sum(int(subprocess.check_output([*self.within(host), "cat", counter])) for host in range(HOSTS))


class Loopback:
    """Two sets of daemons on one network."""

    def __init__(self):
        self.ports = [free_port() for _ in range(HOSTS)]

    def within(self, host):
        return ()

    def address(self, host):
        return "127.0.0.1"

    def peer_address(self, host):
        return "127.0.0.1"

    def port(self, host):
        return self.ports[host]

    def crossed(self):
        return None


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def network(children):
    """Namespaces where they can be made."""
    spaces = Namespaces()
    if os.geteuid() != 0 or not shutil.which("ip"):
        return Loopback(), "daemons on the loopback: namespaces want root and the ip command"
    children.callback(spaces.remove)
    try:
        spaces.make()
    except subprocess.CalledProcessError as refused:
        spaces.remove()
        return Loopback(), f"daemons on the loopback: {refused.stderr.strip() or refused}"
    return spaces, "network namespaces"


class Hosts:
    def __init__(self, setup):
        self.setup = setup
        self.network, kind = network(setup.children)
        self.names = [f"h{host}.fleet.test" for host in range(HOSTS)]
        subprocess.run([CERTIFICATES, setup.at, *self.names], check=True, stdout=subprocess.DEVNULL)
        self.metrics = [free_port() for _ in range(HOSTS)]
        for host in range(HOSTS):
            keeper = setup.keep(Child(f"keeper of h{host}", *self.network.within(host),
                                      setup.build / "tools/keeper/aqua-keeper", "--socket", self.keeper(host)))
            while "listening" not in keeper.line():
                pass
        for host in range(HOSTS):
            self.courier(host)
        show(f"two servers, each with a keeper and a courier: {kind}")

    def keeper(self, host):
        return self.setup.at / f"keeper-{host}.sock"

    def courier(self, host):
        config = self.setup.at / f"courier-{host}.json"
        config.write_text(json.dumps(self.config(host)))
        self.setup.keep(Child(f"courier of h{host}", *self.network.within(host),
                              self.setup.build / "tools/courier/aqua-courier", "--config", config,
                              log=self.setup.at / f"courier-{host}.log"))

    def config(self, host):
        other = 1 - host
        letters = {"fleet": POOLS["fleet"][:self.setup.options.engines], "measured": POOLS["measured"]}
        carry = [{"pool": pool, "from": giver, "to": taker, "peer": self.names[other], "parcels": PARCELS,
                  "address": f"{self.network.peer_address(other)}:{self.network.port(other)}"}
                 for pool, all_of in letters.items() for giver in all_of for taker in all_of
                 if host_of(giver) == host and host_of(taker) == other]
        name = self.names[host]
        return {"keeper": str(self.keeper(host)), "certificate": f"{name}.pem", "key": f"{name}.key",
                "authority": "authority.pem",
                "metrics": f"{self.network.address(host)}:{self.metrics[host]}", "carry": carry,
                "listen": {"address": f"{self.network.peer_address(host)}:{self.network.port(host)}",
                           "peers": [self.names[other]]}}

    def within(self, letter):
        return self.network.within(host_of(letter))

    def words(self, letter):
        """What an engine's command line has beside the rest."""
        host = host_of(letter)
        letters = next(letters for letters in POOLS.values() if letter in letters)
        reached = [word for other in letters if host_of(other) != host for word in ("--reaches", other)]
        return ("--keeper", self.keeper(host), "--carrier", "segments", "--server", self.names[host], "--address",
                self.network.address(host), *reached)

    def carried(self):
        """What couriers have carried, and how many bytes crossed the link between the servers; None on the loopback."""
        pages = [call(f"http://{self.network.address(host)}:{self.metrics[host]}/metrics") for host in range(HOSTS)]
        total = {name: int(sum(sum(samples(page, f"aqua_courier_{name}").values()) for page in pages))
                 for name in ("parcels_sent_total", "sent_bytes_total")}
        return {"parcels": total["parcels_sent_total"], "bytes": total["sent_bytes_total"],
                "link_bytes": self.network.crossed()}
