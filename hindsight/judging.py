"""The stages that hold something against gold: evaluate, audit, and the search for the best formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hindsight.audit.logs import Audit, audit_logs
from hindsight.audit.suite import audit_suite
from hindsight.crossfit import Recipe, Share, crossfit
from hindsight.crossfit import gold as judged
from hindsight.crossfit import mined as mined_from
from hindsight.encoder import golden
from hindsight.encoder.cache import bytes_of
from hindsight.evaluate import Answers, Ask, Scorers, ask_user, check, users_of, with_nothing
from hindsight.io import (
    sha256_of,
    to_json,
    write_json_lines,
    write_text,
)
from hindsight.measure import table, trec
from hindsight.measure.calibration import Doubles, auc, kept_at, summary
from hindsight.measure.ranking import parse
from hindsight.parallel import each
from hindsight.report import audit as audit_table
from hindsight.report import audit_page, page
from hindsight.report import table as terminal
from hindsight.report.findings import findings
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.runs import (
    METRICS,
    QUESTIONS,
    Facts,
    Run,
    free,
    fresh,
    refuse,
    say,
    scorer_at,
    seeds_of,
)
from hindsight.scorer.formula import SEARCHED, read_formula, search
from hindsight.scorer.formula import Judged as Weighed
from hindsight.scorer.load import Checkpoint
from hindsight.scorer.switch import TwoHeads, alone
from hindsight.system.build import ALONE, NAMES, TRAINED, PolicyConfig
from hindsight.system.reranked import Reranker
from hindsight.train.learn import features_each
from hindsight.types import (
    Case,
    ConfigError,
    Count,
    DataError,
    Reader,
    Scorer,
    Suite,
)


@dataclass(frozen=True)
class Evaluation:
    """``k``: hits asked for. ``crossfit``: retrain by ``folds`` of users inside the suite. ``seeds``: how many, from 0. ``dialogues``,
    ``gold``: of each fold, how many users' raw logs and how many questions of ``utility_gold`` to train on, for learning curves (0:
    all)."""

    measures: tuple[str, ...] = (
        "recall@1",
        "recall@5",
        "recall@10",
        "recall_any@10",
        "recall_all@10",
        "recall@512t",
        "noise@5",
        "mrr",
        "ndcg@10",
        "ndcg_lme@10",
    )
    k: int = 20
    candidates: int = 1000
    crossfit: bool = False
    folds: int = 5
    seeds: int = 5
    limit: int = 0
    dialogues: int = 0
    gold: int = 0

    def __post_init__(self) -> None:
        deepest = max((1 if one.tokens else one.cutoff or 1 for one in parse(self.measures)), default=0)
        counts = {"k": self.k, "candidates": self.candidates, "seeds": self.seeds}
        refuse(
            {f"evaluation.{name}={value}: wanted 1 or more": value < 1 for name, value in counts.items()}
            | {f"evaluation.k={self.k}: wanted {deepest} or more, for the measures": 1 <= self.k < deepest}
            | {"evaluation.measures=[]: wanted one or more": not deepest}
            | {f"evaluation.folds={self.folds}: wanted 2 or more": self.folds < 2}
            | {
                f"evaluation.{name}={value}: wanted 0 or more": value < 0
                for name, value in {"limit": self.limit, "dialogues": self.dialogues, "gold": self.gold}.items()
            }
        )


@dataclass(frozen=True)
class SystemChoice:
    """``names``: of our systems. ``run``: a TREC run, ``path``: module:Class, of yours. ``formula``: what ``hindsight formula``
    wrote, for the system of that name."""

    names: tuple[str, ...] = ("random", "recent", "bm25", "dense", "rrf", "zsum", "prior", "utility")
    run: str = ""
    path: str = ""
    formula: str = ""

    def __post_init__(self) -> None:
        refuse(
            {f"system {name!r}; known: {', '.join(NAMES)}": name not in NAMES for name in self.names}
            | {f"system {name!r} stands twice": self.names.count(name) > 1 for name in self.names}
            | {"system=[]: wanted one or more, or system.run=, or system.path=": not (self.names or self.run or self.path)}
        )


@dataclass(frozen=True)
class Judged:
    """What an evaluation wrote: for callers that go on with it."""

    folder: Path
    metrics: Mapping[str, Any]


def evaluate(
    suite: Suite, source: Path, recipe: Recipe, evaluation: Evaluation, chosen: SystemChoice, scorers: Mapping[str, Sequence[Path]], run: Run,
    facts: Facts, reranker: Reranker | None = None, policies: Mapping[str, PolicyConfig] | None = None,
) -> Judged:  # fmt: skip
    """Every system on every question: metrics.json, questions.jsonl, TREC files, report.html; the table on standard output.

    ``scorers``: system -> its checkpoints, one a seed. With ``crossfit`` they are not used.
    """
    out = free(run.at("eval"))
    count = Count()
    cases = list(suite.cases(count))
    if evaluation.limit:
        cases = cases[: evaluation.limit]
    users = users_of(cases)
    say(f"eval: {count}")
    if not users:
        raise DataError(source, f"no question ({count})", "a suite with gold")
    trained = [name for name in chosen.names if name in TRAINED]
    ask = Ask(
        tuple(chosen.names), tuple(evaluation.measures), recipe.miner, recipe.encoding, CandidatesConfig(evaluation.candidates),
        evaluation.k, chosen.run, chosen.path, reranker or Reranker(), policies or {},
    )  # fmt: skip
    if evaluation.crossfit and (wrong := [name for name in trained if name == "default" or name in ALONE]):
        raise ConfigError(
            [f"system {name!r} cannot be cross-fitted: give it another table, without suite.crossfit" for name in wrong]
        )
    fixed: Scorers = {"formula": {0: read_formula(Path(chosen.formula))}} if chosen.formula else {}
    check(ask, fixed)
    notes: dict[str, dict[str, object]] = {}
    nothing = [] if evaluation.crossfit else _nothing(suite)
    if evaluation.limit:  # a quick look: of those who are asked
        asked_users = {own[0].query.user_id for own in users}
        nothing = [case for case in nothing if case.query.user_id in asked_users]
    asked = with_nothing(users, nothing)
    by_user: list[Scorers]
    if evaluation.crossfit and trained:
        heads, sizes = crossfit(
            recipe, users, trained, evaluation.folds, range(evaluation.seeds), Share(evaluation.dialogues, evaluation.gold)
        )
        by_user = list(heads)
        notes |= {name: {"trained_on": f"{sizes[name]} queries of the other folds' users"} for name in trained}
    else:
        by_user = [_loaded(trained, scorers, recipe)] * len(asked)
        notes |= {name: {"trained_on": ", ".join(map(str, scorers.get(name, ())))} for name in trained}
    answers = Answers()
    work = [(cases, {**scorers, **fixed}) for cases, scorers in zip(asked, by_user)]
    for one in each(partial(ask_user, ask), work, run.jobs, "ask"):
        answers.add(one)
    for what, times in answers.noted.items():
        say(f"eval: {times} x {what}")
    if not answers.rows:
        raise DataError(source, answers.lost, "questions whose evidence is among the memories")
    about = table.Unit(
        suite=getattr(suite, "name", type(suite).__name__),
        unit=getattr(suite, "unit", "turn"),
        data_sha256=sha256_of(source),
        skipped=dict(count.skipped) | answers.lost,
        config=dict(facts.settings),
    )
    names = list(dict.fromkeys(str(row["system"]) for row in answers.rows))
    for name, known in _notes(names, recipe, users[0]).items():
        notes[name] = notes.get(name, {}) | known
    metrics = table.summarise(answers.rows, about, evaluation.measures, pairs_of(names), notes)
    if chosen_right := switched(answers.rows):
        metrics["switch"] = chosen_right
        say(f"eval: the switch chose the better head for {chosen_right['right']:.3f} of the {chosen_right['differ']} questions on which "
            f"the two differ; it took act for {chosen_right['act']:.3f} of them")  # fmt: skip
    metrics["notes"] = list(getattr(suite, "notes", ()))
    metrics["history_tokens"] = round(float(np.mean(answers.history)), 1)
    if not evaluation.crossfit:  # whose heads are not calibrated: nobody is held out of a fold
        metrics["calibration"] = calibration_of(answers.utilities, scorers)
        metrics["abstention"] = abstention_of(answers.utilities, answers.nothing)
        for name, found in metrics["abstention"].items():
            say(f"eval: {name} tells {found['n']} questions with an answer from {found['nothing']} with none: AUC {found['auc']:.3f}; "
                f"at a threshold that keeps {KEPT:.0%} of the one it is silent on {found['silent']:.3f} of the other")  # fmt: skip
    fresh(out)
    write_text(out / METRICS, to_json(metrics, indent=2) + "\n")
    write_json_lines(out / QUESTIONS, answers.rows)
    trec.write_runs(out / "run.trec", answers.runs)
    trec.write_qrels(out / "qrels.trec", answers.qrels)
    page.write(out / "report.html", metrics, answers.rows)
    terminal.show(metrics)
    facts.write(out, "eval", {"suite": source}, seeds=metrics["seeds"], n=metrics["n"])
    say(f"eval: {out}/report.html")
    return Judged(out, metrics)


def switched(rows: Sequence[Mapping[str, Any]], by: str = "ndcg@10") -> dict[str, float]:
    """Where both heads alone are in the table: ``differ``, questions on which they come out differently; ``right``, the share of
    those on which the switch took the better one; ``act``, the share of them on which it came out as act does. Empty otherwise."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        if by in row:
            found.setdefault((str(row["query_id"]), int(row["seed"])), {})[str(row["system"])] = float(row[by])
    three = [one for one in found.values() if {"utility", *ALONE} <= set(one)]
    differ = [one for one in three if one["utility_ask"] != one["utility_act"]]
    if not differ:
        return {}
    right = [one["utility"] == max(one["utility_ask"], one["utility_act"]) for one in differ]
    acts = [one["utility"] == one["utility_act"] for one in differ]
    return {"n": len(three), "differ": len(differ), "right": sum(right) / len(differ), "act": sum(acts) / len(differ)}


def pairs_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Ours against each baseline and each control."""
    ours = [("utility", name) for name in names if name not in ("utility", "random")] if "utility" in names else []
    return ours + [("default", name) for name in ("prior", "cues", "formula") if "default" in names and name in names]


def _nothing(suite: Suite) -> list[Case]:
    """The questions that nothing in the past answers, of a suite that has such."""
    unanswerable: Callable[[], list[Case]] | None = getattr(suite, "unanswerable", None)
    return unanswerable() if unanswerable else []


KEPT = 0.9  # share of the questions with an answer that a threshold must keep


def abstention_of(
    utilities: Mapping[str, Sequence[tuple[Doubles, Doubles]]], nothing: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, float]]:
    """Of each calibrated system, by its highest utility on a question: ``auc`` of questions with an answer against those with none,
    ``silent``: share of the latter below the ``threshold`` that keeps nine tenths of the former."""
    found: dict[str, dict[str, float]] = {}
    for name, without in nothing.items():
        highest = np.array([chances.max(initial=0.0) for chances, _ in utilities.get(name, ())])
        if len(highest) and len(without):
            threshold = float(np.quantile(highest, 1 - KEPT))
            scores = np.concatenate([highest, np.array(without)])
            found[name] = {
                "n": len(highest),
                "nothing": len(without),
                "auc": auc(scores, np.arange(len(scores)) < len(highest)),
                "threshold": threshold,
                "silent": float((np.array(without) < threshold).mean()),
            }
    return found


def calibration_of(
    utilities: Mapping[str, Sequence[tuple[Doubles, Doubles]]], scorers: Mapping[str, Sequence[Path]]
) -> dict[str, dict[str, object]]:
    """Of each calibrated system, its first seed: reliability, Brier and ECE on this suite's gold, over all candidates that it scored, and
    on the hindsight labels that its training held out. The two differ: a label credits more, and of harder candidates, than gold does.
    Both with the thresholds that training chose for a precision: on gold they show what is left of it."""
    found: dict[str, dict[str, object]] = {}
    for name, rows in utilities.items():
        chances, used = (np.concatenate(column) for column in zip(*rows))
        trained = dict(scorer_at(scorers[name][0]).config.origin.training.get("calibration") or {})
        parts = {f", {part}": told for part, told in trained.items() if part in ("ask", "act")} or {
            "": trained
        }  # of a switch
        chosen: list[dict[str, Any]] = trained.get("thresholds") or []
        at = [{"wanted": t["wanted"], "threshold": t["threshold"], **kept_at(chances, used, t["threshold"])} for t in chosen]
        if len(chances):
            found[f"{name}, on gold"] = {**summary(chances, used), "thresholds": at}
        for part, told in parts.items():
            if "bins" in told:
                found[f"{name}{part}, on the labels held out of its training"] = told
    return found


def _loaded(trained: Sequence[str], scorers: Mapping[str, Sequence[Path]], recipe: Recipe) -> Scorers:
    """Checkpoints by system and seed. A train run's folder stands for all of its seeds."""
    lacking = [name for name in trained if not scorers.get(name)]
    if lacking:
        keys = {
            name: "scorer.path" if name == "utility" else f"scorer.path_{name.removeprefix('utility_')}" for name in lacking
        }
        raise ConfigError(
            [f"system {name!r} needs a checkpoint: give {keys[name]}=DIR, or suite.crossfit=true" for name in lacking]
        )
    places = {name: [one for path in scorers[name] for one in seeds_of(path)] for name in trained}
    for name, some in places.items():
        real = [one.resolve() for one in some]
        if twice := sorted({str(one) for one, at in zip(some, real) if real.count(at) > 1}):
            raise ConfigError([f"system {name!r}: {', '.join(twice)} twice: a train run's folder brings all its seeds"])
    found = {name: [scorer_at(one) for one in some] for name, some in places.items()}
    encoder = recipe.encoding.build()
    for checkpoint in (one for checkpoints in found.values() for one in checkpoints):
        golden.check(encoder, checkpoint.encoder_golden)
    return {name: {seed: _scorer(name, one) for seed, one in enumerate(checkpoints)} for name, checkpoints in found.items()}


def _scorer(name: str, checkpoint: Checkpoint) -> Scorer:
    if name not in ALONE:
        return checkpoint.scorer
    if not isinstance(checkpoint.scorer, TwoHeads):
        raise ConfigError([f"system {name!r} is one head of a switch: the checkpoint has a single one"])
    return alone(checkpoint.scorer, ALONE[name])


def _notes(names: Sequence[str], recipe: Recipe, cases: Sequence[Case]) -> dict[str, dict[str, object]]:
    """Bytes that a system of ours keeps for a memory beside its text, and what its makers had seen."""
    sample = recipe.encoding.build().encode([turn.text for turn in cases[-1].turns[:200]])
    vectors = sum(map(bytes_of, sample)) / max(1, len(sample))
    pooled = 2 * len(sample[0].pooled)
    kept = {"dense": pooled, "naive": pooled, "rrf": pooled, "recent": 0, "random": 0, "full_context": 0, "oracle": 0}
    seen = dict.fromkeys(
        ("prior", "cues"), "its weights were made by people who had seen LoCoMo, BEAM and LongMemEval questions"
    )
    found: dict[str, dict[str, object]] = {}
    for name in names:
        facts: dict[str, object] = {}
        if name in NAMES and name != "bm25":
            facts["bytes_per_memory"] = round(kept.get(name, vectors))
        found[name] = facts | ({"seen": seen[name]} if name in seen else {})
    return found


def audit(suite: Suite, source: Path, recipe: Recipe, run: Run, facts: Facts) -> Mapping[str, Any]:
    """A labeler against gold, beside its controls: does the future find the memories that were really used?

    Each question of the suite is labelled with what came next (where the suite has it) or with its answer.
    """
    out = free(run.at("audit"))
    count = Count()
    users = users_of(list(suite.cases(count)))
    found = audit_suite(users, recipe)
    report = {"suite": getattr(suite, "name", ""), "data_sha256": sha256_of(source), "skipped": dict(count.skipped), **found}
    write_text(fresh(out) / METRICS, to_json(report, indent=2) + "\n")
    audit_table.show(report)
    facts.write(out, "audit", {"suite": source})
    return report


def audit_own(reader: Reader, path: Path, recipe: Recipe, settings: Audit, run: Run, facts: Facts) -> Mapping[str, Any]:
    """The same on a user's own logs: what can be said without gold, and with a handful. metrics.json, report.html, a table and a
    verdict in words. Raises DataError where no moment of the log has a past to be credited."""
    out = free(run.at("audit"))
    reading, count = Count(), Count()
    dialogues = list(reader.read(path, reading))
    say(f"audit: {reading}")
    found = audit_logs(dialogues, recipe, settings, count)
    say(f"audit: moments {count}")
    if not found["n"]:
        raise DataError(path, f"no moment with a past ({count})", "longer dialogues")
    about = {"suite": "own logs", "labeler": type(recipe.labeler).__name__.lower(), "data_sha256": sha256_of(path)}
    skips = {"skipped": dict(count.skipped), "reading": {"skipped": reading.skipped, "notes": reading.notes}}
    report = {**about, **skips, **found, "config": dict(facts.settings)}
    report["findings"] = findings(report)
    write_text(fresh(out) / METRICS, to_json(report, indent=2) + "\n")
    audit_page.write(out / "report.html", report)
    audit_table.show_own(report)
    facts.write(out, "audit", {"logs": path, "gold": settings.gold, "queries": settings.queries}, n=found["n"])
    say(f"audit: {out}/report.html")
    return report


def formula(suite: Suite, recipe: Recipe, to: Path, trials: int = 400) -> Path:
    """The best of ``trials`` random weightings on a suite of development logs, as a file for ``system.formula``."""
    users = users_of(list(suite.cases(Count())))
    streams = mined_from(recipe.miner, users)
    labelled = [judged(stream, cases) for stream, cases in zip(streams, users)]
    lists = [one for rows in features_each(streams, labelled, recipe.encoding, SEARCHED, recipe.jobs) for one in rows]
    found = search([Weighed(one.features, one.gain) for one in lists], trials)
    found.write(to)
    say(f"formula: best of {trials} on {len(lists)} questions: {to_json(dict(found.weights))}")
    return to
