"""How numbers and other people's text are written, wherever they are shown. Reads the body of metrics.json."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

Metrics = Mapping[str, Any]

FEW_CLUSTERS = 20
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")


def figure(value: float | None) -> str:
    """A measure in [0, 1] as papers print it: `.645`; a value that is not known: `–`."""
    return "–" if value is None else re.sub(r"^(-?)0\.", r"\1.", f"{value:.3f}")


def signed(value: float | None) -> str:
    return "–" if value is None else ("+" if value >= 0 else "") + figure(value)


def braces(low: float | None, high: float | None) -> str:
    """An interval: `{.021, .041}`."""
    return "{–}" if low is None or high is None else f"{{{figure(low)}, {figure(high)}}}"


def chance(p: float | None) -> str:
    """`p = .0012`, `p < .0001`."""
    if p is None:
        return "p unknown"
    return "p < .0001" if p < 0.0001 else "p = " + f"{p:.4f}".lstrip("0").replace("1.0000", "1")


def label(measure: str) -> str:
    """`ndcg@10` -> `nDCG@10`."""
    return measure.replace("ndcg", "nDCG").replace("mrr", "MRR")


def amount(value: float | None) -> str:
    """Milliseconds, bytes or tokens, three figures: `0.42`, `12.3`, `1,843`."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def visible(text: object) -> str:
    """One line that cannot steer a terminal or turn a page's direction: control and direction characters are taken out."""
    line = " ".join(_DIRECTION.sub("", str(text)).split())
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") else c for c in line)


def paragraphs(text: str, most: int) -> str:
    """As ``visible``, in lines as they are; what is longer than ``most`` characters is cut, and says so."""
    plain = _DIRECTION.sub("", text[:most].replace("\r\n", "\n"))
    plain = "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t" else c for c in plain)
    return plain if len(text) <= most else f"{plain}… ({len(text) - most:,} characters more)"


def measures_of(metrics: Metrics) -> list[str]:
    """In the order of the columns."""
    systems = metrics["systems"].values()
    found = dict.fromkeys(
        name for one in systems for name, cell in one.items() if isinstance(cell, Mapping) and "mean" in cell
    )
    return [name for name in metrics.get("measures", found) if name in found]


def headline_of(metrics: Metrics) -> str:
    """The measure to show where there is room for one."""
    names = measures_of(metrics)
    wanted = metrics.get("headline", "ndcg@10")
    return wanted if wanted in names else names[0]


def verdict(comparison: Mapping[str, Any]) -> str:
    """`above`, `below` or `not apart`: both the interval and the adjusted p must say so."""
    low, high, p = comparison["low"], comparison["high"], comparison.get("p")
    if low is None or (low <= 0 <= high) or (p is not None and p >= 0.05):
        return "not apart"
    return "above" if low > 0 else "below"


def difference(comparison: Mapping[str, Any]) -> str:
    """`utility minus prior: nDCG@10 +.032 {.021, .041}, cluster user (10), p = .0020`."""
    one = comparison
    clusters = f" ({one['clusters']})" if "clusters" in one else ""
    return (
        f"{visible(one['a'])} minus {visible(one['b'])}: {label(one['measure'])} {signed(one['difference'])} "
        f"{braces(one['low'], one['high'])}, cluster {one['cluster']}{clusters}, {chance(one.get('p'))}"
    )


def facts(metrics: Metrics) -> dict[str, str]:
    """What the numbers are about: heading -> one line."""
    found = {"suite": metrics["suite"], "unit": metrics["unit"], "n": f"{metrics['n']:,} questions"}
    if told := metrics.get("notes"):
        found["notes"] = ", ".join(told)
    if clusters := metrics.get("clusters"):
        found["{low, high}"] = f"95 % interval, {clusters:,} {metrics.get('cluster', 'cluster')}s resampled"
    skipped = metrics.get("skipped") or {}
    reasons = ", ".join(f"{why} {n:,}" for why, n in sorted(skipped.items()))
    found["left out"] = f"{sum(skipped.values()):,}: {reasons}" if reasons else "none"
    if pool := metrics.get("pool"):
        found["pool"] = f"{pool['min']:,} / {pool['median']:,.0f} / {pool['max']:,} memories (min / median / max)"
    if history := metrics.get("history_tokens"):
        found["history"] = f"{history:,.0f} tokens a question; tokens: of the first 5 hits"
    found["seeds"] = ", ".join(map(str, metrics.get("seeds", []))) or "none"
    found["data"] = f"sha256 {str(metrics.get('data_sha256', 'unknown'))[:16]}"
    return {name: visible(value) for name, value in found.items()}


def cautions(metrics: Metrics) -> list[str]:
    """What a reader must know before believing the table."""
    found = [
        f"{label(name)} is saturated: k reaches the whole pool in {share:.0%} of questions, where recall is 1 in any order"
        for name, share in (metrics.get("saturated") or {}).items()
    ]
    clusters = metrics.get("clusters")
    if clusters is not None and clusters < 2:
        found.append("one cluster: no interval can be given")
    elif clusters is not None and clusters < FEW_CLUSTERS:
        held = "about 90 %" if clusters >= 10 else "less than 90 %"
        found.append(f"{clusters} clusters: a 95 % interval of so few holds the truth {held} of the time")
    return found


def notes(system: Mapping[str, Any]) -> dict[str, str]:
    """A system's facts that are neither a measure nor a cost: `trained_on`, `seen`, ..."""
    plain = {
        key: value
        for key, value in system.items()
        if key not in ("bytes_per_memory", "tokens") and not isinstance(value, Mapping)
    }
    return {key.replace("_", " "): visible(value) for key, value in plain.items()}
