"""The stages from logs to a scorer: built parts and paths in, one artefact out.

Each writes its manifest last, and refuses input without one. Those that need gold are in ``judging.py``.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hindsight.crossfit import Recipe
from hindsight.crossfit import gold as judged
from hindsight.encoder import adapter, golden
from hindsight.encoder.hf import HfEncoder
from hindsight.evaluate import users_of
from hindsight.export import export as write_scorer
from hindsight.io import (
    MANIFEST,
    read_manifest,
    sha256_of,
    write_json_lines,
)
from hindsight.logs.stream import by_user
from hindsight.miner.turns import Turns
from hindsight.report.recall import show as show_recall
from hindsight.retrieval.candidates import CandidatesConfig
from hindsight.runs import (
    DIALOGUES,
    EXAMPLES,
    MEMORIES,
    SCORER,
    Facts,
    Run,
    check_labels,
    free,
    fresh,
    miner_of,
    read_mined,
    refuse,
    say,
    scorer_at,
)
from hindsight.scorer.load import Choice, Origin, Regime, load
from hindsight.scorer.switch import Switch
from hindsight.system.past import Past
from hindsight.system.scored import Scored
from hindsight.train import answer_words, examples
from hindsight.train.adapter import Adapt, Layers, Lesson, lessons_of, size_of
from hindsight.train.adapter import fit as fit_layers
from hindsight.train.learn import Encoding, HeadConfig, Learned, features_each, hold_out, label_each, learn
from hindsight.train.loop import Fit
from hindsight.train.processes import by_first, is_first
from hindsight.train.sinks import JsonLines, Wandb, both
from hindsight.types import (
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


@dataclass(frozen=True)
class Export:
    """``to``: the new folder."""

    to: str = ""


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


def kinds_of(labelled: Sequence[Labelled] | Sequence[Lesson]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for one in labelled:
        kinds[one.kind] = kinds.get(one.kind, 0) + 1
    return kinds


@dataclass(frozen=True)
class Source:
    """One corpus to train on: what ``mine`` and ``label`` made of it."""

    name: str
    mined: Path
    labels: Path


def train(sources: Sequence[Source], recipe: Recipe, out: Path, run: Run, facts: Facts) -> Path:
    """Labelled queries -> a scorer folder, calibrated on users that were held out. Resumes where it was stopped.

    Of several sources each weighs the same, and about ``run.held_out`` of each one's users are held out.
    """
    corpora: list[list[Labelled]] = []
    streams: list[Mined] = []
    labelled: list[list[Labelled]] = []
    held: frozenset[str] = frozenset()
    for source in sources:
        known = read_mined(source.mined)
        check_labels(source.mined, source.labels)
        by_user_id: dict[str, list[Labelled]] = {}
        for one in examples.read(source.labels / EXAMPLES):
            by_user_id.setdefault(one.query.user_id, []).append(one)
        own = [stream for stream in known if stream.user_id in by_user_id]
        streams += own
        labelled += [by_user_id[stream.user_id] for stream in own]
        corpora.append([one for stream in own for one in by_user_id[stream.user_id]])
        held |= hold_out([stream.user_id for stream in own], run.held_out)
    # finished: start anew; unfinished: go on from its checkpoint
    by_first(lambda: fresh(out) if (out / MANIFEST).exists() else free(out).mkdir(parents=True, exist_ok=True))
    columns = recipe.scorer.columns
    lists = [one for rows in features_each(streams, labelled, recipe.encoding, columns, run.jobs) for one in rows]
    encoder = recipe.encoding.build()
    training: dict[str, Any] = {}
    for seed in range(run.seeds):
        fitting = replace(recipe.fit, seed=recipe.fit.seed + seed)
        folder = out if seed == 0 else out / f"seed-{fitting.seed}"
        written = JsonLines(folder / "metrics.jsonl")
        board = Wandb(folder / "wandb", run.name, facts.settings) if run.wandb else None
        learned = learn(
            corpora, lists, recipe.labeler, recipe.scorer, fitting, held, folder, both(written, board) if board else written
        )
        if board:
            board.close()
        made = _training(learned, fitting, len(streams), sources)
        if not is_first():
            continue
        origin = _origin(recipe, encoder, made, run.licences)
        write_scorer(folder / SCORER, learned.head, recipe.scorer, golden.golden(encoder), origin)  # pyright: ignore[reportArgumentType]
        say(f"train: {sum(learned.queries.values())} queries, {learned.held_out} held out, "
            f"ECE on held-out labels {_eces(learned.calibration)}")  # fmt: skip
        training = training or made
    if is_first():
        inputs = {stage: at / MANIFEST for source in sources for stage, at in _stages(source, len(sources) > 1)}
        facts.write(out, "train", inputs, training=training)
    return out


def _eces(calibration: Mapping[str, Any]) -> str:
    """Of the one head, or of each part of a switch."""
    if "ece" in calibration or not calibration:
        return str(calibration.get("ece"))
    return ", ".join(f"{name} {part.get('ece')}" for name, part in calibration.items())


def _stages(source: Source, several: bool) -> list[tuple[str, Path]]:
    name = f" {source.name}" if several else ""
    return [(f"mine{name}", source.mined), (f"label{name}", source.labels)]


def _training(learned: Learned, fitting: Fit, users: int, sources: Sequence[Source]) -> dict[str, Any]:
    return {
        "seed": fitting.seed,
        "queries": learned.queries,
        "held_out_queries": learned.held_out,
        "users": users,
        "memories_sha256": {source.name: sha256_of(source.mined / MEMORIES) for source in sources},
        "calibration": learned.calibration,
    }


def _origin(recipe: Recipe, encoder: Encoder, training: dict[str, Any], licences: Sequence[str]) -> Origin:
    return Origin(
        regime_of(recipe.scorer),
        Choice.of(recipe.miner),
        Choice.of(recipe.labeler),
        Choice.of(recipe.encoding.encoder),
        encoder.fingerprint,
        CandidatesConfig().limit,
        training,
        {what.strip(): licence.strip() for what, _, licence in (told.partition(":") for told in licences)},
    )


def regime_of(scorer: HeadConfig) -> Regime:
    if isinstance(scorer, Switch):
        return "both"
    return "act" if getattr(scorer, "features", "") == "act" else "ask"


def words(mined: Mapping[str, Path], to: Path, licences: Sequence[str]) -> Path:
    """Mined logs of several corpora -> the table of answer words (features/answer_words.py)."""
    table = answer_words.learn([[stream.turns for stream in read_mined(folder)] for folder in mined.values()])
    hashes = {name: sha256_of(folder / DIALOGUES) for name, folder in mined.items()}
    answer_words.write(table, {"dialogues_sha256": hashes, "licences": list(licences)}, to)
    say(f"words: {sum(map(len, table.values()))} pairs of {len(table)} words and pairs of words -> {to}")
    return to


def adapt(mined: Sequence[Path], recipe: Recipe, config: Adapt, out: Path, run: Run, facts: Facts) -> Path:
    """Raw logs -> an adapter of the encoder's last layers, for ``encoder.adapter=``. Deterministic on a CPU for a seed."""
    encoder = recipe.encoding.encoder.build()
    if not isinstance(encoder, HfEncoder) or encoder.adapter:
        raise ConfigError(["adapt: wanted encoder=hf without encoder.adapter="])
    logs = [read_mined(folder) for folder in mined]
    free(out)
    taught = lessons_of(logs, recipe.miner, recipe.labeler, recipe.encoding, config, run.jobs)
    layers = Layers(encoder, config)
    layers.prepare([text for one in taught for text in (one.query, *one.memories)])
    losses = [{"step": step, "train_loss": loss} for step, loss in fit_layers(layers, taught, config)]
    write_json_lines(fresh(out) / "metrics.jsonl", losses)
    changes = layers.changes()
    kinds = kinds_of(taught)
    sha256 = adapter.write_weights(out, changes)
    training: dict[str, Any] = {
        "settings": asdict(config), "labeler": asdict(Choice.of(recipe.labeler)), "queries": kinds, "numbers": size_of(changes),
        "memories_sha256": [sha256_of(folder / MEMORIES) for folder in mined],
    }  # fmt: skip
    made = adapter.Config(adapter.FORMAT, encoder.weights, sha256, layers.numbers, config.rank, training)
    adapter.write_config(out, made)
    adapted = replace(encoder.config, adapter=str(out)).build()
    adapter.write_golden(out, golden.golden(adapted))
    facts.write(
        out, "adapt", {f"mine {folder.name}": folder / MANIFEST for folder in mined}, queries=kinds, numbers=size_of(changes)
    )
    say(f"adapt: {sum(kinds.values())} queries, {size_of(changes)} numbers: {out}")
    return out


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


@dataclass(frozen=True)
class Recall:
    """``query`` asked at the end of a user's stream; ``user``: an id of the mined artefact, "" for its first user."""

    query: str = ""
    user: str = ""
    k: int = 3
    threshold: float = 0.0

    def __post_init__(self) -> None:
        refuse(
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
    memories = {memory.memory_id: memory for memory in past.memories(query)}
    show_recall(query, hits, memories, reading=system.reading(query))
    return hits
