"""The gain of each optimisation: some groups with all optimisations, and with each one switched off in turn (AITHERION_DISABLE)."""
import sys

import bed as beds
import catalogue
import measure

ALL = "all"


def chosen(options, names):
    """The optimisations asked for; with `all`, every one at once."""
    wanted = options.switches.split(",") if options.switches else [*names, ALL]
    strange = [name for name in wanted if name not in names and name != ALL]
    if strange:
        sys.exit(f"bench/run: no optimisation '{strange[0]}': {', '.join(names)}")
    return {name: names.get(name, "every one") for name in wanted}


def ways_of(names):
    ways = []
    for transport in beds.USUAL:
        ways.append(catalogue.Way(transport, transport))
        ways += [catalogue.Way(f"{transport} without {name}", transport, disabled=name)
                 for name, meaning in names.items() if beds.concerns(meaning, transport)]
    return ways


def measure_all(options, place, result, save):
    """As measure.measure_all(), with the names in the result."""
    result["switches"] = chosen(options, place.bed.switches())
    ways = ways_of(result["switches"])
    groups = [catalogue.named(name) for name in catalogue.SWITCHED if not options.groups or name in options.groups]

    def note(line, found):
        print(line, file=sys.stderr, flush=True)
        save(options, result, found)

    return measure.measure_all(place, groups, result["rounds"], options.budget, lambda group: ways, note)
