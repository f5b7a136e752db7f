"""The stages: built parts and paths in, one artefact out. Each writes its manifest last, and refuses input without one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from hindsight.audit import audit_suite
from hindsight.crossfit import Recipe, crossfit
from hindsight.crossfit import gold as judged
from hindsight.crossfit import mined as mined_from
from hindsight.encoder import golden
from hindsight.encoder.cache import bytes_of
from hindsight.evaluate import Answers, Ask, Scorers, ask_user, check, users_of
from hindsight.export import export as write_scorer
from hindsight.features import matrix
from hindsight.io import (
    MANIFEST,
    read_artefact,
    read_manifest,
    sha256_of,
    to_json,
    write_json_lines,
    write_manifest,
    write_text,
)
from hindsight.logs.stream import by_user
from hindsight.measure import table, trec
from hindsight.measure.ranking import parse
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.parallel import each
from hindsight.report import audit as audit_table
from hindsight.report import page
from hindsight.report import table as terminal
from hindsight.report.recall import show as show_recall
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.scorer.formula import SEARCHED, read_formula, search
from hindsight.scorer.formula import Judged as Weighed
from hindsight.scorer.load import Checkpoint, Choice, Origin, load
from hindsight.suite.own import Labels
from hindsight.system.build import NAMES, TRAINED
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.train import examples
from hindsight.train.learn import Encoding, Learned, features_each, hold_out, label_each, learn
from hindsight.train.loop import Fit
from hindsight.train.processes import by_first, is_first
from hindsight.train.sinks import JsonLines, Wandb, both
from hindsight.types import (
    Case,
    ConfigError,
    Count,
    DataError,
    Dialogue,
    Encoder,
    Hit,
    Labelled,
    Memory,
    Mined,
    Miner,
    Query,
    Reader,
    Suite,
    opaque,
)

DIALOGUES, MEMORIES, EXAMPLES, SCORER = "dialogues.jsonl", "memories.jsonl", "examples", "scorer"
METRICS, QUESTIONS = "metrics.json", "questions.jsonl"


@dataclass(frozen=True)
class Run:
    """``name`` of the run: artefacts go to ``folder``/<stage>/<name>/. ``jobs``: processes, 0 for one a core. ``seeds``: heads to
    train, from ``fit.seed`` on; the first is the one that is exported."""

    name: str = "default"
    folder: str = "runs"
    jobs: int = 0
    held_out: float = 0.15
    seeds: int = 1
    wandb: bool = False

    def __post_init__(self) -> None:
        _refuse(
            {
                f"run.name={self.name!r}: wanted a folder's name": not self.name or Path(self.name).name != self.name,
                f"run.jobs={self.jobs}: wanted 0 or more": self.jobs < 0,
                f"run.held_out={self.held_out}: wanted from 0 to below 1": not 0 <= self.held_out < 1,
            }
        )

    def at(self, stage: str) -> Path:
        return Path(self.folder) / stage / self.name


@dataclass(frozen=True)
class Evaluation:
    """``k``: hits asked for. ``crossfit``: retrain by ``folds`` of users inside the suite. ``seeds``: how many, from 0."""

    measures: tuple[str, ...] = (
        "recall@1",
        "recall@5",
        "recall@10",
        "recall_any@10",
        "recall_all@10",
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

    def __post_init__(self) -> None:
        deepest = max((one.cutoff or 1 for one in parse(self.measures)), default=0)
        counts = {"k": self.k, "candidates": self.candidates, "seeds": self.seeds}
        _refuse(
            {f"evaluation.{name}={value}: wanted 1 or more": value < 1 for name, value in counts.items()}
            | {f"evaluation.k={self.k}: wanted {deepest} or more, for the measures": 1 <= self.k < deepest}
            | {"evaluation.measures=[]: wanted one or more": not deepest}
            | {f"evaluation.folds={self.folds}: wanted 2 or more": self.folds < 2}
            | {f"evaluation.limit={self.limit}: wanted 0 or more": self.limit < 0}
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
        _refuse(
            {f"system {name!r}; known: {', '.join(NAMES)}": name not in NAMES for name in self.names}
            | {f"system {name!r} stands twice": self.names.count(name) > 1 for name in self.names}
            | {"system=[]: wanted one or more, or system.run=, or system.path=": not (self.names or self.run or self.path)}
        )


def _refuse(wrong: Mapping[str, bool]) -> None:
    """Raises ConfigError with each problem that holds: told before an hour of work, not after."""
    if problems := [problem for problem, holds in wrong.items() if holds]:
        raise ConfigError(problems)


@dataclass(frozen=True)
class Export:
    """``to``: the new folder."""

    to: str = ""


@dataclass(frozen=True)
class Facts:
    """What a manifest says beside its inputs: the settings as given."""

    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def write(self, folder: Path, stage: str, inputs: Mapping[str, Path | None], **more: object) -> None:
        write_text(folder / "config.yaml", to_json(self.settings, indent=2) + "\n")  # JSON is YAML
        write_manifest(folder, stage, inputs, **more)


def say(text: object) -> None:
    print(text, file=sys.stderr)


def mine(reader: Reader, path: Path, miner: Miner, out: Path, facts: Facts) -> Path:
    """Logs -> dialogues.jsonl (by user, in stream order) and memories.jsonl. Raises DataError where nothing was kept."""
    free(out)
    count = Count()
    dialogues: list[Dialogue] = []
    memories: list[Memory] = []
    for user_id, stream in by_user(reader.read(path, count)):
        dialogues += stream
        for dialogue in stream:
            memories += miner.mine(dialogue.turns, user_id, dialogue.dialogue_id)
    say(f"mine: {count}\nmine: {len(memories)} memories of {len({m.user_id for m in memories})} users")
    if not memories:
        raise DataError(path, f"no memory ({count})", "dialogues with something to remember")
    fresh(out)
    write_json_lines(out / DIALOGUES, dialogues)
    write_json_lines(out / MEMORIES, memories)
    facts.write(out, "mine", {"logs": path}, counts=asdict(count), memories=len(memories))
    return out


def read_mined(folder: Path) -> list[Mined]:
    """The users of a ``mine`` artefact, in its order. Raises DataError where the stage did not end."""
    finished(folder, "mine", DIALOGUES, MEMORIES)
    memories: dict[str, list[Memory]] = {}
    for memory in read_artefact(folder / MEMORIES, Memory):
        memories.setdefault(memory.user_id, []).append(memory)
    found: list[Mined] = []
    for user_id, group in groupby(read_artefact(folder / DIALOGUES, Dialogue), key=lambda dialogue: dialogue.user_id):
        turns = tuple(turn for dialogue in group for turn in dialogue.turns)
        found.append(Mined(user_id, turns, memories.get(user_id, [])))
    return found


def label(mined: Path, labeler: Any, encoding: Encoding, out: Path, run: Run, facts: Facts) -> Path:
    """Mined memories -> labelled training queries, as an Arrow data set. Raises DataError where no future shows a use."""
    free(out)
    streams = read_mined(mined)
    labelled = [one for rows in label_each(streams, labeler, encoding, run.jobs) for one in rows]
    kinds = kinds_of(labelled)
    say(f"label: {len(labelled)} queries " + ", ".join(f"{kind} {n}" for kind, n in kinds.items()))
    if not labelled:
        raise DataError(mined, "no query whose future shows a use", "longer dialogues, or another labeler=")
    examples.write(fresh(out) / EXAMPLES, labelled)
    facts.write(out, "label", {"mine": mined / MANIFEST}, queries=kinds)
    return out


def read_labels(mined: Path, labels: Path) -> Labels:
    """What a labeler found in a user's own logs, as the judgments of suite=own."""
    check_labels(mined, labels)
    memories = [memory for stream in read_mined(mined) for memory in stream.memories]
    return Labels(memories, list(examples.read(labels / EXAMPLES)))


def check_labels(mined: Path, labels: Path) -> None:
    """Raises DataError where the label stage did not end, or named other memories than those of ``mined``."""
    told = finished(labels, "label", EXAMPLES)
    if told["inputs"]["mine"]["sha256"] != sha256_of(mined / MANIFEST):
        raise DataError(labels, f"labels of other memories than {mined} holds now", "its own: run `hindsight label` again")


def gold(suite: Suite, mined: Path, out: Path, facts: Facts) -> Path:
    """A suite's judgments as labels, for ``utility_gold``: the same head on gold, the upper bound."""
    free(out)
    streams = {stream.user_id: stream for stream in read_mined(mined)}
    labelled: list[Labelled] = []
    for cases in users_of(list(suite.cases(Count()))):
        if (stream := streams.get(cases[0].query.user_id)) is not None:
            labelled += judged(stream, cases)
    say(f"gold: {len(labelled)} queries")
    if not labelled:
        raise DataError(mined, "no user of the suite", "the logs that the suite asks about, mined under this run.name")
    examples.write(fresh(out) / EXAMPLES, labelled)
    facts.write(out, "label", {"mine": mined / MANIFEST}, queries={"gold": len(labelled)})
    return out


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


def kinds_of(labelled: Sequence[Labelled]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for one in labelled:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    return kinds


def train(mined: Path, labels: Path, recipe: Recipe, out: Path, run: Run, facts: Facts) -> Path:
    """Labelled queries -> a scorer folder, calibrated on users that were held out. Resumes where it was stopped."""
    streams = read_mined(mined)
    check_labels(mined, labels)
    # finished: start anew; unfinished: go on from its checkpoint
    by_first(lambda: fresh(out) if (out / MANIFEST).exists() else free(out).mkdir(parents=True, exist_ok=True))
    by_user_id: dict[str, list[Labelled]] = {}
    for one in examples.read(labels / EXAMPLES):
        by_user_id.setdefault(one.query.user_id, []).append(one)
    streams = [stream for stream in streams if stream.user_id in by_user_id]
    labelled = [by_user_id[stream.user_id] for stream in streams]
    columns = matrix.columns_of(recipe.scorer.features)
    lists = [one for rows in features_each(streams, labelled, recipe.encoding, columns, run.jobs) for one in rows]
    held = hold_out([stream.user_id for stream in streams], run.held_out)
    flat = [one for rows in labelled for one in rows]
    encoder = recipe.encoding.build()
    training: dict[str, Any] = {}
    for seed in range(run.seeds):
        fitting = replace(recipe.fit, seed=recipe.fit.seed + seed)
        folder = out if seed == 0 else out / f"seed-{fitting.seed}"
        written = JsonLines(folder / "metrics.jsonl")
        board = Wandb(folder / "wandb", run.name, facts.settings) if run.wandb else None
        learned = learn(
            flat, lists, recipe.labeler, recipe.scorer, fitting, held, folder, both(written, board) if board else written
        )
        if board:
            board.close()
        made = _training(learned, fitting, len(streams), mined)
        if not is_first():
            continue
        write_scorer(folder / SCORER, learned.head, recipe.scorer, golden.golden(encoder), _origin(recipe, encoder, made))  # pyright: ignore[reportArgumentType]
        say(f"train: {sum(learned.queries.values())} queries, {learned.held_out} held out, "
            f"ECE on held-out labels {learned.calibration.get('ece')}")  # fmt: skip
        training = training or made
    if is_first():
        facts.write(out, "train", {"mine": mined / MANIFEST, "label": labels / MANIFEST}, training=training)
    return out


def _training(learned: Learned, fitting: Fit, users: int, mined: Path) -> dict[str, Any]:
    return {
        "seed": fitting.seed,
        "queries": learned.queries,
        "held_out_queries": learned.held_out,
        "users": users,
        "memories_sha256": sha256_of(mined / MEMORIES),
        "calibration": learned.calibration,
    }


def _origin(recipe: Recipe, encoder: Encoder, training: dict[str, Any]) -> Origin:
    return Origin(
        "act" if recipe.scorer.features == "act" else "ask",
        Choice.of(recipe.miner),
        Choice.of(recipe.labeler),
        Choice.of(recipe.encoding.encoder),
        encoder.fingerprint,
        CandidatesConfig().limit,
        training,
        {},
    )


def export(trained: Path, to: Path) -> Path:
    """A copy of a trained scorer's folder, checked by loading it."""
    read_manifest(trained, "train")
    load(trained / SCORER)
    if to.exists() and not to.is_dir():
        raise DataError(to, "a file", "an empty or new folder, or an older export")
    if to.exists() and any(to.iterdir()) and not (to / "golden.json").exists():
        raise DataError(to, "a folder with other files", "an empty or new folder, or an older export")
    shutil.copytree(trained / SCORER, to, dirs_exist_ok=True)
    load(to)
    say(f"export: {to}")
    return to


def scorer_at(path: Path) -> Checkpoint:
    """``path``: a scorer folder, or a train run's. Raises DataError, as ``load`` does."""
    return load(path / SCORER if (path / SCORER).is_dir() else path)


@dataclass(frozen=True)
class Judged:
    """What an evaluation wrote: for callers that go on with it."""

    folder: Path
    metrics: Mapping[str, Any]


def evaluate(
    suite: Suite, source: Path, recipe: Recipe, evaluation: Evaluation, chosen: SystemChoice, scorers: Mapping[str, Sequence[Path]], run: Run,
    facts: Facts,
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
        evaluation.k, chosen.run, chosen.path,
    )  # fmt: skip
    fixed: Scorers = {"formula": {0: read_formula(Path(chosen.formula))}} if chosen.formula else {}
    check(ask, fixed)
    notes: dict[str, dict[str, object]] = {}
    by_user: list[Scorers]
    if evaluation.crossfit and trained:
        heads, sizes = crossfit(recipe, users, trained, evaluation.folds, range(evaluation.seeds))
        by_user = list(heads)
        notes |= {name: {"trained_on": f"{sizes[name]} queries of the other folds' users"} for name in trained}
    else:
        by_user = [_loaded(trained, scorers, recipe)] * len(users)
        notes |= {name: {"trained_on": ", ".join(map(str, scorers.get(name, ())))} for name in trained}
    answers = Answers()
    work = [(cases, {**scorers, **fixed}) for cases, scorers in zip(users, by_user)]
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
    metrics["notes"] = list(getattr(suite, "notes", ()))
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


def pairs_of(names: Sequence[str]) -> list[tuple[str, str]]:
    """Ours against each baseline and each control."""
    return [("utility", name) for name in names if name not in ("utility", "random")] if "utility" in names else []


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
    found = {name: [scorer_at(one) for path in scorers[name] for one in seeds_of(path)] for name in trained}
    encoder = recipe.encoding.build()
    for checkpoint in (one for checkpoints in found.values() for one in checkpoints):
        golden.check(encoder, checkpoint.encoder_golden)
    return {name: {seed: one.scorer for seed, one in enumerate(checkpoints)} for name, checkpoints in found.items()}


def seeds_of(path: Path) -> list[Path]:
    """A train run's scorers, the first seed's first; a scorer folder itself."""
    return [path, *sorted(path.glob("seed-*"))] if (path / MANIFEST).exists() else [path]


def _notes(names: Sequence[str], recipe: Recipe, cases: Sequence[Case]) -> dict[str, dict[str, object]]:
    """Bytes that a system of ours keeps for a memory beside its text, and what its makers had seen."""
    sample = recipe.encoding.build().encode([turn.text for turn in cases[-1].turns[:200]])
    vectors = sum(map(bytes_of, sample)) / max(1, len(sample))
    pooled = 2 * len(sample[0].pooled)
    kept = {"dense": pooled, "rrf": pooled, "recent": 0, "random": 0}
    seen = {"prior": "its weights were made by people who had seen LoCoMo, BEAM and LongMemEval questions"}
    found: dict[str, dict[str, object]] = {}
    for name in names:
        facts: dict[str, object] = {}
        if name in NAMES and name != "bm25":
            facts["bytes_per_memory"] = round(kept.get(name, vectors))
        found[name] = facts | ({"seen": seen[name]} if name in seen else {})
    return found


MINERS = {"turns": Turns, "episodes": Episodes}


def miner_of(checkpoint: Checkpoint, otherwise: Miner) -> Miner:
    """The miner whose memories a checkpoint was trained on; ``otherwise`` where it is none of ours."""
    choice = checkpoint.config.origin.miner
    return MINERS[choice.kind](**choice.options) if choice.kind in MINERS else otherwise


@dataclass(frozen=True)
class Recall:
    """``query`` asked at the end of a user's stream; ``user``: an id of the mined artefact, "" for its first user."""

    query: str = ""
    user: str = ""
    k: int = 3
    threshold: float = 0.0

    def __post_init__(self) -> None:
        _refuse(
            {
                f"recall.k={self.k}: wanted 1 or more": self.k < 1,
                f"recall.threshold={self.threshold}: wanted from 0 to below 1": not 0 <= self.threshold < 1,
            }
        )


def recall(mined: Path, scorer: Path, asked: Recall, encoding: Encoding) -> list[Hit]:
    """The memories of one user for a query, with their explanation, on standard output."""
    streams = {stream.user_id: stream for stream in read_mined(mined)}
    user_id = asked.user or next(iter(streams))
    if user_id not in streams:
        raise DataError(
            "recall.user", asked.user, f"one of the {len(streams)} users of {mined}, such as {next(iter(streams))}"
        )
    checkpoint, encoder = scorer_at(scorer), encoding.build()
    golden.check(encoder, checkpoint.encoder_golden)
    past = Past(miner_of(checkpoint, Turns()), encoder)
    system = Scored("utility", checkpoint.scorer, past, CandidatesConfig().build(), True, asked.threshold)
    stream = streams[user_id]
    system.observe(user_id, stream.turns)
    query = Query(opaque("recall", asked.query), user_id, "", asked.query, stream.turns[-1].position + 1)
    hits = system.recall(query, asked.k)
    show_recall(query, hits, {memory.memory_id: memory for memory in past.memories(query)})
    return hits


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


def finished(folder: Path, stage: str, *files: str) -> dict[str, Any]:
    """The manifest of a stage. Raises DataError where it did not end, or where a file is no longer the one that it wrote."""
    told = read_manifest(folder, stage)
    for name in files:
        if not (folder / name).exists() or sha256_of(folder / name) != told.get("outputs", {}).get(name):
            got = "another file than the stage wrote" if (folder / name).exists() else "no such file"
            raise DataError(folder / name, got, f"a whole artefact: run `hindsight {stage}` again")
    return told


def free(folder: Path) -> Path:
    """The same again, where a stage may write: nothing is there, or what an earlier run of the same name left. That stays until
    there is something to put in its place. Raises DataError on anything else."""
    if folder.exists() and not folder.is_dir():
        raise DataError(folder, "a file", "a folder of this stage; give another run.name=")
    known = {MANIFEST, "config.yaml", "metrics.jsonl", METRICS, DIALOGUES, MEMORIES, EXAMPLES, SCORER, "checkpoint.pt"}
    known |= {QUESTIONS, "run.trec", "qrels.trec", "report.html", "wandb"}
    found = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
    if strange := [name for name in found if name not in known and not name.startswith((".", "seed-"))]:
        raise DataError(folder, ", ".join(strange), "a folder of this stage; give another run.name=")
    return folder


def fresh(folder: Path) -> Path:
    """An empty folder for a stage's output."""
    if free(folder).exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder
