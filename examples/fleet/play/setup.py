# SPDX-License-Identifier: Apache-2.0
"""What all parts need: where programs and files lie, and processes that end with the run."""
import contextlib
import pathlib

from play.hosts import Hosts
from play.kinds import kind_of
from play.members import Router
from play.process import Child, show


class Setup:
    def __init__(self, options, directory, children: contextlib.ExitStack):
        self.options, self.at, self.children = options, pathlib.Path(directory), children
        self.build = options.build
        self.kind = kind_of(options)
        self.address = self.start_coordinator()
        self.hosts = Hosts(self) if options.hosts > 1 else self.start_keeper()  # None: this machine alone

    def keep(self, child):
        self.children.callback(child.stop)
        return child

    def start_coordinator(self):
        address = f"unix:{self.at}/coordinator.sock"
        coordinator = self.keep(Child("coordinator", self.build / "coordinator/aqua-coordinator", "--listen", address,
                                      "--data", self.at / "coordinator", "--log-level", "error"))
        while "listening on" not in coordinator.line():
            pass
        return address

    def start_keeper(self):
        keeper = self.keep(Child("keeper", self.build / "tools/keeper/aqua-keeper", "--socket",
                                 self.at / "keeper.sock"))
        while "listening" not in keeper.line():
            pass
        show("a coordinator and a keeper")

    def engine(self, letter, *options, port=0, within=()):
        """With KV memory of its own, or, by --keeper, in a pool."""
        return self.keep(self.kind.engine(letter, *options, port=port, within=within))

    def pool_engine(self, letter, *options, port=0):
        """That hands KV over: within a pool, or by segments on the server that it is on."""
        if self.hosts:
            return self.engine(letter, *self.hosts.words(letter), *options, port=port, within=self.hosts.within(letter))
        return self.engine(letter, "--keeper", self.at / "keeper.sock", *options, port=port)

    def router(self, engines, policy=None, *options):
        return self.keep(Router(self.build, engines, policy or self.options.policy, *self.kind.router_words, *options))
