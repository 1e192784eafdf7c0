"""From the answers of the workers to medians, ratios and the table for docs/benchmarks.md."""

from __future__ import annotations

from math import ceil
from statistics import median
from typing import Any

ROWS, FEATURE_BITS = 256, 19
PAIR = "plumbob native, two threads"
LABELS = {
    "iteration_many": "iteration, {many} columns",
    "iteration_few": "iteration, {few} columns",
    "product_many": "product alone, {many} columns",
    "product_few": "product alone, {few} columns",
    "product_non_negative": "product, {many} columns, non-negative data",
    "encrypt": "encryption, per value",
    "decrypt": "decryption, per value ({many} columns)",
}

Results = dict[str, Any]


def summarise(results: Results) -> dict[str, dict[str, float]]:
    """Seconds of every figure, medians over the rounds. Two threads have a line of their own, see `two_threads`."""
    rounds = {name: rounds for name, rounds in results["rounds"].items() if rounds and name != PAIR}
    return {name: figures(asked, results["settings"]) for name, asked in rounds.items()}


def figures(rounds: list[Results], settings: Results) -> dict[str, float]:
    clock = "cpu_seconds" if settings["clock"] == "cpu" else "seconds"
    columns, few = rounds[0]["columns"], settings["few"]
    scale = settings["many"] / columns

    def part(which: str, *names: str) -> float:
        middle: float = median(sum(once[which]["parts"][name][clock] for name in names) for once in rounds)
        return middle

    per_column = ("product", "mask", "decrypt", "unmask")
    encrypt = median([part("few", "encrypt"), part("many", "encrypt")])
    return {
        "iteration_many": 2 * (encrypt + scale * part("many", *per_column)),
        "iteration_few": 2 * (encrypt + part("few", *per_column)),
        "product_many": scale * part("many", "product"),
        "product_few": part("few", "product"),
        "product_non_negative": scale * median(once["non_negative"][clock] for once in rounds),
        "encrypt": encrypt / ROWS,
        "decrypt": part("many", "decrypt") / columns,
        "linearity": (part("many", "product") / columns) / (part("few", "product") / few),
    }


def markdown(results: Results) -> str:
    tables = [heading(results), rates(results)]
    ours = [name for name in results["summary"] if name.startswith("plumbob")]
    tables += [ratios(results, name) for name in ours if rivals(results)]
    return "\n\n".join([*tables, own_table(results), notes(results)])


def heading(results: Results) -> str:
    machine, settings = results["machine"], results["settings"]
    return (
        f"{machine['processor']}, Python {machine['python']}; {settings['key_bits']}-bit keys, batch {ROWS}, "
        "features 16 fraction bits (19 with sign), residuals 20; one thread on one core, "
        f"{settings['clock']} seconds, medians of {settings['rounds']} interleaved rounds. "
        f"Peers' {settings['many']} columns were measured on {settings['sample']} and scaled; 'linearity' is the cost "
        f"of a column there over that at {settings['few']}. One direction of an iteration is measured and doubled. "
        f"Wall over processor time of all one-thread measurements: {busyness(results):.2f} (well above 1: not alone)."
    )


def busyness(results: Results) -> float:
    """Wall seconds over processor seconds: above 1, others used the core, and wall seconds compare badly."""
    asked = [once["many"] for name, rounds in results["rounds"].items() if name != PAIR for once in rounds]
    wall, processor = (sum(answer[clock] for answer in asked) for clock in ("seconds", "cpu_seconds"))
    return float(wall / processor) if processor else 0.0


def rates(results: Results) -> str:
    header = ["library", "encryptions / s", "decryptions / s", "product, entries / s, 392", "12", "non-negative"]
    rows = [rate_row(name, seconds, results["settings"]) for name, seconds in results["summary"].items()]
    rows += [[name, reason, *[""] * 7] for name, reason in results["missing"].items()]
    return table([*header, "iteration 392, s", "iteration 12, s", "linearity"], rows)


def rate_row(name: str, seconds: dict[str, float], settings: Results) -> list[str]:
    many, few = ROWS * settings["many"], ROWS * settings["few"]
    return [
        name,
        f"{1 / seconds['encrypt']:,.0f}",
        f"{1 / seconds['decrypt']:,.0f}",
        f"{many / seconds['product_many']:,.0f}",
        f"{few / seconds['product_few']:,.0f}",
        f"{many / seconds['product_non_negative']:,.0f}",
        f"{seconds['iteration_many']:.3g}",
        f"{seconds['iteration_few']:.3g}",
        "" if name.startswith("plumbob") else f"{seconds['linearity']:.2f}",
    ]


def ratios(results: Results, ours: str) -> str:
    """How many times faster than each peer."""
    summary, settings = results["summary"], results["settings"]
    peers = rivals(results)
    rows = [
        [label.format(**settings), *(f"{summary[peer][key] / summary[ours][key]:.1f}" for peer in peers)]
        for key, label in LABELS.items()
    ]
    return table([f"{ours}, times faster than", *peers], rows)


def rivals(results: Results) -> list[str]:
    """Everybody but us."""
    return [name for name in results["summary"] if not name.startswith("plumbob")]


def own_table(results: Results) -> str:
    summary, settings = results["summary"], results["settings"]
    rows = []
    for name, own in results.get("own", {}).items():
        unit = modular_multiplication(results, name)
        if unit:
            reach = unit * four_russians(settings["many"]) / summary[name]["product_many"]
            rows.append([f"{name}: GMP's modular multiplication x Four-Russians count / product", f"{reach:.2f}"])
        traffic = own["traffic"]
        sizes = " / ".join(f"{traffic[part] / 1000:.1f}" for part in ("request", "masked_reply", "handed_back"))
        rows.append([f"{name}: kB request / masked reply / handed back, {settings['many']} columns", sizes])
    return table(["our own figures", ""], [*rows, *two_threads(results)])


def two_threads(results: Results) -> list[list[str]]:
    """How much two threads gain. They use the same processor time: only the wall clock can compare."""
    settings = {**results["settings"], "clock": "wall"}
    runs = [results["rounds"].get(name) for name in ("plumbob native", PAIR)]
    if not all(runs):
        return []
    one, two = (figures(rounds, settings) for rounds in runs if rounds)
    keys = ("product_many", "iteration_many")
    return [
        [f"two threads against one, {LABELS[key].format(**settings)}", f"{one[key] / two[key]:.2f}"] for key in keys
    ]


def modular_multiplication(results: Results, name: str) -> float:
    """Seconds of GMP's, by the clock of the table; 0 where it was not measured."""
    clock = "cpu_seconds" if results["settings"]["clock"] == "cpu" else "seconds"
    units = [
        once["modular_multiplication"][clock] for once in results["rounds"][name] if "modular_multiplication" in once
    ]
    return float(median(units)) if units else 0.0


def four_russians(columns: int) -> int:
    """Modular multiplications of the product: ceil(rows / g) (2^g + columns * bits), at the best g."""
    return min(ceil(ROWS / group) * ((1 << group) + columns * FEATURE_BITS) for group in range(1, 17))


def notes(results: Results) -> str:
    rows = [[name, note["widths"], note["randomness"], note["mask"]] for name, note in results["notes"].items()]
    return table(["library", "widths", "randomness", "mask and fresh randomness of replies"], rows)


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
