"""How many samples are needed to identify a random system."""

import results
from sections.measured import markdown


def section() -> str:
    found = results.read("recovery")
    if not found:
        return "## Recovery\n\nNot measured yet."
    lines = [
        [row["predictors"], row["levels"], row["rank"], row["factors"], row["samples_per_FNI"], row["success_rate"]]
        for row in found
    ]
    header = ["predictors N", "levels I", "rank F", "factors", "samples / (F N I)", "fraction recovered"]
    return f"""## Recovery

Random systems, observed without noise at random cells. A system counts as recovered if the relative error on unobserved
cells is below 1e-2 (`benchmarks/recovery.py`).

{markdown(header, lines)}"""
