"""Units behind numbers: "3750.0 g", "12 cm", "1,200 km", "5 ft".

A unit is stripped where ``ONE_UNIT`` of the cells that have any have this one, and at least half of the numbers have
it; numbers without a unit are then taken to be in it, and a cell in another unit is a gap. Where units differ, the
column is not a number, because nothing is converted. Suffixes such as K and M multiply and are not units; letters that
serve for codes as often (12A, 7B) are not in the list either.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from widegap._types import Ints

ONE_UNIT = 0.95  # share of the cells with a unit that have the most common one; the others may be slips
TEXTS_TRIED = 1000  # different texts, half of which must be a number and a unit before all are looked at
# Spellings of every unit; the first one is shown. Single letters are read as they are written, longer ones in any case.
SPELLINGS = {
    line.split()[0]: tuple(line.split())
    for line in """
    kg kgs kilo kilos kilogram kilograms kilogramm
    g gr gram grams gramm
    mg
    µg ug mcg
    lb lbs pound pounds
    oz ounce ounces
    t ton tons tonne tonnes
    km kilometer kilometers kilometre kilometres
    m meter meters metre metres
    cm centimeter centimeters centimetre centimetres
    mm
    µm um
    nm
    mi mile miles
    ft foot feet
    in inch inches
    yd yards
    m² m2 sqm qm
    km² km2
    cm² cm2
    ft² ft2 sqft
    ha hectare hectares
    acres acre
    l ltr liter liters litre litres L
    ml
    cl
    m³ m3
    cm³ cm3 ccm cc
    gal gallon gallons
    s sec secs second seconds
    ms
    min mins minute minutes
    h hr hrs hour hours std
    days day tage
    weeks week
    months month mo mos
    years year yr yrs jahre
    km/h kmh kph
    mph
    m/s
    °C
    °F
    V
    W watt watts
    kW
    kWh
    Wh
    mAh
    Hz
    kHz
    MHz
    GHz
    KB
    MB
    GB
    TB
    Pa
    hPa
    kPa
    bar
    psi
    mmHg
    kcal
    kJ
    J
    hp bhp PS
    bpm
    rpm
    mpg
    l/100km
    ppm
    px
    pcs pc
    mg/dl
    mmol/l
    """.strip().splitlines()
}


def _letters(spelling: str) -> str:
    return re.escape(spelling) if len(spelling) == 1 else f"(?i:{re.escape(spelling)})"


PATTERNS_OF_UNITS = {unit: "|".join(map(_letters, spellings)) for unit, spellings in SPELLINGS.items()}
NUMBER_BEFORE = r"^([-+−–]?[\d.,'’\s]*\d[.,]?)\s*"  # a number of any form, which is read once its unit is off


def units_in(texts: pa.StringArray, counts: Ints) -> dict[str, int]:
    """How many cells have each unit, the most common first; empty if most texts are not a number and a unit."""
    first = texts.slice(0, TEXTS_TRIED)
    n_tried = pc.sum(_matched(first, _whole_cell("|".join(PATTERNS_OF_UNITS.values())))).as_py() or 0
    if not len(first) or 2 * n_tried < len(first):
        return {}
    found = {}
    for unit, spellings in PATTERNS_OF_UNITS.items():
        if pc.any(_matched(first, _whole_cell(spellings))).as_py():
            has = _matched(texts, _whole_cell(spellings)).to_numpy(zero_copy_only=False).astype(bool)
            found[unit] = int(np.sum(counts[has]))
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def without_unit(texts: pa.StringArray, unit: str) -> pa.StringArray:
    """The texts without this unit behind their numbers."""
    return pc.replace_substring_regex(texts, _whole_cell(PATTERNS_OF_UNITS[unit]), r"\1")


def _whole_cell(spellings: str) -> str:
    return rf"{NUMBER_BEFORE}(?:{spellings})\.?$"


def _matched(texts: pa.StringArray, pattern: str) -> pa.BooleanArray:
    return pc.match_substring_regex(texts, pattern)


def one_unit(units: dict[str, int], n_present: int) -> str:
    """The unit of a column with so many cells that hold anything; empty if it has none, or several."""
    total = sum(units.values())
    if not units or 2 * total < n_present:
        return ""
    unit, n = next(iter(units.items()))
    return unit if n >= ONE_UNIT * total else ""


def mixed_unit_words(units: dict[str, int], n_present: int) -> str:
    """A note on a column whose numbers have different units; empty if they do not."""
    if 2 * sum(units.values()) < n_present or one_unit(units, n_present):
        return ""
    shown = ", ".join(list(units)[:4])
    return f", and its numbers have different units ({shown}), which are not converted"
