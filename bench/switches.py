"""What each optimisation brings: some groups with all of them, and with each one switched off in turn (AITHERION_DISABLE)."""
import os
import subprocess
import sys

import catalogue
import measure

TRANSPORTS = [catalogue.SHM, catalogue.TCP]
ALL = "all"


def known(bed):
    """{name: what it does}, as the server's program tells them."""
    command = [os.path.join(bed.build, "aitherion-runtime"), "switches"]
    text = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True, env=bed.base_environment()).stdout
    return dict(line.split(maxsplit=1) for line in text.splitlines() if line.strip())


def chosen(options, names):
    """Those asked for; with `all`, every one at once."""
    wanted = options.switches.split(",") if options.switches else [*names, ALL]
    strange = [name for name in wanted if name not in names and name != ALL]
    if strange:
        sys.exit(f"bench/run: no optimisation '{strange[0]}': {', '.join(names)}")
    return {name: names.get(name, "every one") for name in wanted}


def concerns(meaning, transport):
    """What is about one transport alone says so in front: "tcp: ..."."""
    return all(not meaning.startswith(other + ":") for other in TRANSPORTS if other != transport)


def ways_of(names):
    ways = []
    for transport in TRANSPORTS:
        ways.append(catalogue.Way(transport, transport))
        ways += [catalogue.Way(f"{transport} without {name}", transport, disabled=name)
                 for name, meaning in names.items() if concerns(meaning, transport)]
    return ways


def measure_all(options, place, result, save):
    """As measure.measure_all(), with the names in the result."""
    result["switches"] = chosen(options, known(place.bed))
    ways = ways_of(result["switches"])
    groups = [catalogue.named(name) for name in catalogue.SWITCHED if not options.groups or name in options.groups]

    def note(line, found):
        print(line, file=sys.stderr, flush=True)
        save(options, result, found)

    return measure.measure_all(place, groups, result["rounds"], options.budget, lambda group: ways, note)
