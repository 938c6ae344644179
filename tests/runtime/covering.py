"""A covering array: few rows of settings in which every pair of settings occurs.

Each factor (an optimisation, the transport) has two settings. With "none" (every setting False) and "all" (every setting True), six
more rows are enough for 20 factors: a factor is True in three of the six rows, and no two factors in the same three. So for two
factors there is a row in which only the first one is True, a row in which only the second one is True, and "none" and "all" have
the other two pairs. This is strength 2: of three settings, not every combination occurs.
"""
import itertools

ROWS = 6


def rows(factors):
    """Six rows: in each one the set of the factors that are True. They cover all pairs together with "none" and "all"."""
    threes = list(itertools.combinations(range(ROWS), ROWS // 2))
    if len(factors) > len(threes):
        raise ValueError(f"{len(factors)} factors, but {ROWS} rows cover {len(threes)}: raise ROWS")
    return [{factor for factor, three in zip(factors, threes) if row in three} for row in range(ROWS)]


def missing(factors, all_rows):
    """The pairs of settings that occur in no row: [(factor, setting, factor, setting)]."""
    return [(one, is_one, other, is_other)
            for one, other in itertools.combinations(factors, 2) for is_one in (False, True) for is_other in (False, True)
            if not any((one in row) == is_one and (other in row) == is_other for row in all_rows)]
