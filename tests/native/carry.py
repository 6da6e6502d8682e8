#!/usr/bin/python3
"""In the guest: the daemon in mode native between two NICs, whose cables lead to those of the traffic side.

Traffic, whose packets are all judged; a second daemon on the same NICs, and traffic once more; the daemon killed,
started again, and traffic. Prints what the traffic side found of each, and what the daemon shows in the end, as JSON.
Leaving the daemon checks its accounts.
"""

import argparse
import json
import tempfile

from inside import bench, configuration, refusal
from kit.daemon import Daemon, held
from kit.netns import Net

SHOWN = ("workers", "interfaces", "counters")
LIMIT_S = 60


def traffic(gen, words):
    """What the traffic side found."""
    done = gen.run(*bench.traffic_words("soak", bench.NATIVE, "--wait", str(LIMIT_S), "--json", *words),
                   timeout=LIMIT_S)
    return json.loads(done.stdout)


def second(path, workers):
    """The configuration of another daemon, with an address of its own."""
    made = configuration(path, workers)
    made["n4"]["address"] = "127.0.0.1"
    return made


def main():
    """Carry traffic, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    options, words = parser.parse_known_args()
    with Net() as net, tempfile.TemporaryDirectory() as folder:
        gen, upf = bench.lay(net)
        with Daemon(upf, folder, lambda path: configuration(path, options.workers)) as daemon:
            found = {"traffic": [traffic(gen, words)],
                     "second": refusal(upf, lambda path: second(path, options.workers))}
            found["traffic"].append(traffic(gen, words))
            daemon.kill()
            daemon.start()
            found["traffic"].append(traffic(gen, words))
            found["shown"] = {what: daemon.ctl("show", what) for what in SHOWN}
            found["held"] = held(daemon)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
