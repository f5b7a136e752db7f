"""``hindsight STAGE key=value ...``: reads settings, builds parts, runs stages. Errors that are the caller's end with 2."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hindsight import judging, stages
from hindsight.config import ALWAYS, PARTS, Settings, jobs, settings, swept
from hindsight.crossfit import Recipe
from hindsight.memory.doctor import examine
from hindsight.reading import answering, check, stage
from hindsight.replay import stage as replaying
from hindsight.runs import Facts, Run, miner_of, read_labels, scorer_at
from hindsight.scorer.load import DEFAULT
from hindsight.suite.gold import FOLDER as BUNDLED
from hindsight.sweep import Job, Sweep, refuse_test, run_all
from hindsight.system.build import ALONE, POLICIES, RUNTIME
from hindsight.system.weights import parts
from hindsight.train.learn import Encoding
from hindsight.train.processes import by_first
from hindsight.types import ConfigError, HindsightError, opaque

HELP = f"""usage: hindsight STAGE [key=value ...]

stages
  mine     logs -> memories                      logs.path=FILE_OR_DIR [logs=openai] [miner=episodes]
  label    memories -> labelled queries          [labeler=values]
  audit    a labeler on your own logs            logs.path=FILE_OR_DIR [labeler=values] [audit.gold=PAIRS.jsonl]
           or against a suite's gold             suite=reuse suite.path=DIR [labeler=values]
  train    labelled queries -> a scorer          [scorer=switch labeler=both] [run.mix=[RUN,RUN]] [fit.seed=1]
  words    mined logs -> which words answer which  run.mix=[RUN,RUN] to=FILE (what features/answer_words.json is)
  adapt    mined logs -> an encoder adapter       [adapt.of=[RUN,RUN]]; used by encoder.adapter=runs/adapt/RUN
  gold     a suite's judgments as labels          suite=reuse suite.path=DIR (an upper bound, for utility_gold)
  formula  the best fixed weights on a suite      suite=reuse suite.path=DEV system.formula=FILE
  eval     a suite, every system, one table      suite=locomo suite.path=FILE scorer.path=DIR system=[bm25,prior,utility]
           a reader's answers under each bias    suite=injection [suite.split=train] [suite.conditions=[plain,drop:.1,log:1]]
           a model's answers with each system's memories, and their cost: answers.lm=local|endpoint answers.system=[none,bm25,full_context]
           the same with several settings, one page:  eval -m suite.split=train system=[bionic] bionic.rate=0,.07 [sweep.ablate=true]
  judge-check  how often a judge of answers errs  suite=bundled judge.by=rules|endpoint|local [judge.model=NAME judge.url=URL]
  export   a trained scorer -> a folder          to=DIR
  recall   memories for a query, and why         recall.query="..." [recall.user=ID] scorer.path=DIR
  replay   a dialogue turn by turn, as a page     logs.path=FILE [replay.user=ID] [replay.system=utility] [scorer.path=DIR] to=FILE.html
           a store's, as it happened             store.path=FILE [replay.user=ID] to=FILE.html
  doctor   is a store whole, and does it agree   store.path=FILE (ends with 1 where it does not)
  all      mine, label, train                    (what train.py runs)

groups     {", ".join(f"{g}={'|'.join(options)}" for g, options in PARTS.items())}
settings   {", ".join(ALWAYS)}: see configs/ and the dataclass of each part; experiment=act for tasks in progress
artefacts  runs/<stage>/<run.name>/; stages of one run.name follow each other
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. Returns the exit status: 0; 1 where the doctor finds something; 2 with a message on standard error."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given or given[0] in ("-h", "--help", "help"):
        print(HELP)
        return 0
    try:
        if given[0] not in STAGES:
            raise ConfigError([f"no stage {given[0]!r}; known: {', '.join(STAGES)}. `hindsight --help` tells more"])
        if "-h" in given or "--help" in given:
            print(HELP)
            return 0
        if given[0] == "eval" and {"-m", "--multirun"} & set(given):
            multirun([word for word in given[1:] if word not in ("-m", "--multirun")])
            return 0
        found = STAGES[given[0]](settings("eval" if given[0] in JUDGING else "train", given[1:]))
    except (HindsightError, OSError) as error:  # of the system: no permission, a full disk, a folder that is a file
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 1 if found is False else 0


def recipe_of(chosen: Settings) -> Recipe:
    return Recipe(
        chosen["miner"].build(),
        chosen["labeler"].build(),
        chosen["scorer"],
        chosen["fit"],
        Encoding(chosen["encoder"], chosen["cache"]),
        chosen["run"].jobs,
    )


def logs_at(chosen: Settings) -> Path:
    """``logs.path``, else the bundled logs."""
    return Path(chosen.paths["logs"] or BUNDLED / "train.jsonl")


def mine(chosen: Settings) -> Path:
    path = logs_at(chosen)
    run: Run = chosen["run"]
    return stages.mine(chosen["logs"].build(), path, chosen["miner"].build(), run.at("mine"), Facts(chosen.plain))


def label(chosen: Settings) -> Path:
    run, recipe = chosen["run"], recipe_of(chosen)
    return stages.label(run.at("mine"), recipe.labeler, recipe.encoding, run.at("label"), run, Facts(chosen.plain))


def train(chosen: Settings) -> Path:
    run: Run = chosen["run"]
    names = run.mix or (run.name,)
    sources = [stages.Source(name, run.at("mine", name), run.at("label", name)) for name in names]
    return stages.train(sources, recipe_of(chosen), run.at("train"), run, Facts(chosen.plain))


def adapt(chosen: Settings) -> Path:
    run: Run = chosen["run"]
    mined = [replace(run, name=name).at("mine") for name in chosen["adapt"].of or (run.name,)]
    return stages.adapt(mined, recipe_of(chosen), chosen["adapt"], run.at("adapt"), run, Facts(chosen.plain))


def pipeline(chosen: Settings) -> Path:
    """All of it. A run that was stopped while training goes on there, with the same settings."""
    by_first(lambda: (mine(chosen), label(chosen)))
    return train(chosen)


def suite_of(chosen: Settings) -> Any:
    """A suite's settings are the suite, but for a user's own logs: those come from ``logs``, judged by this run's labels."""
    suite = chosen["suite"]
    if chosen.choices["suite"] != "own":
        return suite.build()
    run: Run = chosen["run"]
    path = suite.path if str(suite.path) != "." else logs_at(chosen)
    labels = None if suite.qrels else read_labels(run.at("mine"), run.at("label"))
    return replace(suite, path=path, reader=chosen["logs"].build(), labels=labels, share=run.held_out).build()


def injection(chosen: Settings) -> None:
    """The default checkpoint, where no other is given."""
    scorer, limit = Path(chosen.paths["scorer"] or DEFAULT), chosen["evaluation"].candidates
    stage.evaluate(suite_of(chosen), recipe_of(chosen), scorer, limit, chosen["run"], Facts(chosen.plain))


def answers(chosen: Settings) -> None:
    """Systems that need a checkpoint have the one of ``scorer.path``; ``default`` the one that comes with the package."""
    suite, recipe, wanted = suite_of(chosen), recipe_of(chosen), chosen["answers"]
    path = chosen.paths["scorer"].split(",")[0]
    trained = {
        name: DEFAULT if name == "default" else path for name in ("default", "utility", RUNTIME) if name in wanted.system
    }
    if lacking := [f"system {name!r} needs a checkpoint: give scorer.path=DIR" for name, at in trained.items() if not at]:
        raise ConfigError(lacking)
    checkpoints = {name: scorer_at(Path(at)) for name, at in trained.items()}
    for checkpoint in checkpoints.values():
        recipe = replace(recipe, miner=miner_of(checkpoint, recipe.miner))
    scorers: dict[str, Any] = {name: checkpoint.scorer for name, checkpoint in checkpoints.items()}
    limit = chosen["evaluation"].candidates
    answering.evaluate(
        suite,
        suite.path,
        recipe,
        wanted,
        chosen["judge"],
        scorers,
        limit,
        chosen["reranker"],
        chosen["run"],
        Facts(chosen.plain),
    )


def evaluate(chosen: Settings) -> judging.Judged | None:
    if chosen.choices["suite"] == "injection":
        return injection(chosen)
    if chosen["answers"].lm != "none":
        return answers(chosen)
    suite = suite_of(chosen)
    scorers = {name: [Path(p) for p in chosen.paths.get(key, "").split(",") if p] for name, key in CHECKPOINTS.items()}
    paths = scorers["utility"]
    scorers |= {"default": [Path(DEFAULT)], **dict.fromkeys((*ALONE, RUNTIME), paths)}
    recipe = recipe_of(chosen)
    if paths and not chosen["evaluation"].crossfit:  # the checkpoint says which memories it scores
        recipe = replace(recipe, miner=miner_of(scorer_at(paths[0]), recipe.miner))
    if chosen["system"].path and "" not in sys.path:
        sys.path.insert(0, "")  # a module of the user's lies where they are; an installed script would not look there
    return judging.evaluate(
        suite,
        suite.path,
        recipe,
        chosen["evaluation"],
        chosen["system"],
        scorers,
        chosen["run"],
        Facts(chosen.plain),
        chosen["reranker"],
        {name: chosen[name] for name in POLICIES},
    )


def gold(chosen: Settings) -> Path:
    run: Run = chosen["run"]
    return stages.gold(suite_of(chosen), run.at("mine"), run.at("label"), Facts(chosen.plain))


def formula(chosen: Settings) -> Path:
    return judging.formula(suite_of(chosen), recipe_of(chosen), Path(chosen["system"].formula or "formula.json"))


def audit(chosen: Settings) -> None:
    """On ``logs.path`` (or suite=own), else on a suite."""
    own, settings = chosen.choices["suite"] == "own", chosen["audit"]
    if own or chosen.paths["logs"]:
        if not own and chosen.choices["suite"] != "bundled":
            raise ConfigError([f"audit: logs.path= or suite={chosen.choices['suite']}, not both"])
        if own and chosen["suite"].qrels and not settings.gold:
            settings = replace(settings, gold=chosen["suite"].qrels, queries=chosen["suite"].queries)
        judging.audit_own(
            chosen["logs"].build(), logs_at(chosen), recipe_of(chosen), settings, chosen["run"], Facts(chosen.plain)
        )
        return
    if settings.gold:
        raise ConfigError(["audit.gold: goes with logs.path=; a suite has its own gold"])
    suite = suite_of(chosen)
    judging.audit(suite, suite.path, recipe_of(chosen), chosen["run"], Facts(chosen.plain))


def words(chosen: Settings) -> Path:
    run: Run = chosen["run"]
    if not chosen["export"].to:
        raise ConfigError(["words: give to=FILE"])
    mined = {name: run.at("mine", name) for name in run.mix or (run.name,)}
    return stages.words(mined, Path(chosen["export"].to), run.licences)


def export(chosen: Settings) -> Path:
    to = chosen["export"].to
    if not to:
        raise ConfigError(["export: give to=DIR"])
    return stages.export(chosen["run"].at("train"), Path(to))


def recall(chosen: Settings) -> None:
    asked = chosen["recall"]
    path = Path(chosen.paths["scorer"] or chosen["run"].at("train"))
    if not asked.query:
        raise ConfigError(['recall: give recall.query="..."'])
    stages.recall(chosen["run"].at("mine"), path, asked, recipe_of(chosen).encoding)


def multirun(words: Sequence[str]) -> None:
    """Every combination of what is swept, after the run as it is; with ``sweep.ablate`` each part of its systems taken out, too."""
    combined = jobs(words)
    same = [word for word in words if not swept(word)]
    base = settings("eval", same)
    wanted: Sweep = base["sweep"]
    split = str(getattr(base["suite"], "split", ""))
    refuse_test(split, wanted)
    changes = [(), *([] if combined == [()] else combined)]
    if wanted.ablate:
        changes += [(word,) for name in base["system"].names if name in POLICIES for word in parts(name, base[name])]
    if len(changes) < 2:
        raise ConfigError(["-m: nothing is swept: give key=value,value or sweep.ablate=true"])
    out = base["run"].at("sweep")
    run_all([_job(same, changed, out) for changed in dict.fromkeys(changes)], wanted, split, out)


def _job(same: Sequence[str], changed: tuple[str, ...], out: Path) -> Job:
    """Named by what it changes, so that the same one is found again."""
    name = "".join(letter if letter.isalnum() or letter in "._=," else "-" for letter in ",".join(changed)) or "as-it-is"
    name = name if len(name) <= 100 else f"{name[:80]}-{opaque('sweep', *changed)}"  # a folder's name has an end
    chosen = settings("eval", [*same, *changed, f"run.folder='{out}'", f"run.name='{name}'"])
    return Job(changed, chosen["run"].at("eval"), chosen.plain, lambda: evaluate(chosen))


def replay(chosen: Settings) -> None:
    """The default checkpoint, where no other is given."""
    log, store, to = chosen.paths["logs"], chosen["store"].path, chosen["export"].to
    problems = replaying.not_a_page(to)
    if bool(log) == bool(store):
        wanted = "logs.path=FILE (a log) or store.path=FILE (a store, as it happened)"
        problems.append(f"replay: give {wanted}" if not log else f"replay: {wanted}, not both")
    if problems:
        raise ConfigError(problems)
    if store:
        replaying.of_store(Path(store), chosen["replay"], Path(to))
        return
    encoder, scorer = recipe_of(chosen).encoding.build(), Path(chosen.paths["scorer"] or DEFAULT)
    replaying.of_log(chosen["logs"].build(), Path(log), chosen["replay"], scorer, encoder, Path(to))


def doctor(chosen: Settings) -> bool:
    """Whether all is well."""
    if not chosen["store"].path:
        raise ConfigError(["doctor: give store.path=FILE"])
    found = examine(Path(chosen["store"].path))
    print(f"{found.users} users, {found.events} events, {found.memories} memories; {len(found.problems)} problems")
    for problem in found.problems:
        print(f"  {problem}")
    return not found.problems


def judge_check(chosen: Settings) -> None:
    suite = suite_of(chosen)
    check.check(suite, suite.path, chosen["judge"], chosen["run"], Facts(chosen.plain))


JUDGING = ("eval", "audit", "gold", "formula", "judge-check")  # these know suites
# system -> where its checkpoint is given
CHECKPOINTS = {"utility": "scorer"} | {f"utility_{name}": f"scorer.path_{name}" for name in ("hidden", "shuffled", "gold")}

STAGES: dict[str, Callable[[Settings], Any]] = {
    "mine": mine,
    "label": label,
    "gold": gold,
    "formula": formula,
    "audit": audit,
    "train": train,
    "adapt": adapt,
    "eval": evaluate,
    "judge-check": judge_check,
    "words": words,
    "export": export,
    "recall": recall,
    "replay": replay,
    "doctor": doctor,
    "all": pipeline,
}

if __name__ == "__main__":
    sys.exit(main())
