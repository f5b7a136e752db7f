"""Fits an encoder's last layers to late interaction on hindsight labels: low-rank changes, small enough to be sent about.

The score that is trained is the one that is used: what else ranks a memory (BM25 of its window, who said it) stands fixed, and the
matches of token vectors are added as ``prior`` adds them, standardised by what the frozen encoder finds in the whole pool. So the layers
learn what words do not tell. Lower layers are frozen: each text passes them once, in float16, and a step runs the last layers alone.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from hindsight.encoder.hf import HfEncoder, batches
from hindsight.features.moment import Moment, match_together, zscore
from hindsight.features.replay import moment, replay
from hindsight.miner.wording import clip
from hindsight.train.learn import Encoding, built, label_each
from hindsight.train.losses import listwise
from hindsight.types import ConfigError, DataError, Encoder, Floats, Labeler, Labelled, Mined, Miner

NAMES = (
    "Maya Oliver Priya Tomas Hannah Marcus Elena Derek Aisha Simon Clara Victor Naomi Felix Ingrid Jamal Rosa Ethan Leila Gavin"
    " Bianca Hugo Tessa Omar Greta Nolan Yuki Walter Irene Samir"
).split()
USERS_A_BATCH = 4
ROWS_AT_ONCE = 4096  # padded tokens that pass the last layers together
LATE = 2.0  # what ``prior`` gives late interaction, beside 1 for the window's BM25 and 1 for the speaker


@dataclass(frozen=True)
class Adapt:
    """``layers``: the last ones, that change; ``rank``: of the changes. ``candidates``: memories a query in the loss, at most
    ``used`` of them used. Learned from are ``queries`` in all, of the first ``turns`` of each user, of which ``longest`` wordpieces
    are read. ``of``: run.names of the logs; none is this run's own."""

    layers: int = 2
    rank: int = 16
    steps: int = 240
    batch: int = 16
    learning_rate: float = 2e-4
    candidates: int = 14
    used: int = 4
    longest: int = 96
    turns: int = 300
    queries: int = 4000
    seed: int = 0
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        counts = ("layers", "rank", "steps", "batch", "used", "turns", "queries")
        least = dict.fromkeys(counts, 1) | {"longest": 3, "batch": USERS_A_BATCH}
        wrong = {
            f"adapt.{name}={getattr(self, name)}: wanted {low} or more": getattr(self, name) < low
            for name, low in least.items()
        }
        wrong[f"adapt.candidates={self.candidates}: wanted more than adapt.used={self.used}"] = self.candidates <= self.used
        wrong[f"adapt.learning_rate={self.learning_rate}: wanted more than 0"] = not self.learning_rate > 0
        if problems := [problem for problem, holds in wrong.items() if holds]:
            raise ConfigError(problems)


@dataclass(frozen=True, slots=True)
class Lesson:
    """One training query. ``rest``: what else ranks each memory; ``shares``: what each of the query's tokens weighs; ``mean`` and
    ``spread`` of the frozen encoder's matches over the whole pool; ``target`` sums to 1."""

    user_id: str
    query: str
    memories: tuple[str, ...]
    rest: Floats  # (memories,)
    shares: Floats  # (query tokens,)
    mean: float
    spread: float
    target: Floats  # (memories,)
    weight: float
    kind: str


def lessons(stream: Mined, labelled: Sequence[Labelled], encoder: Encoder, config: Adapt) -> list[Lesson]:
    """One user's labelled queries, each at its moment, with memories that were used and those that it is easily misled to."""
    encoder.encode([one.query.text for one in labelled])
    at: dict[int, list[Labelled]] = defaultdict(list)
    for one in labelled:
        at[one.query.asked_at].append(one)
    positions = sorted(at)
    found: list[Lesson] = []
    for number, past in replay(stream.turns, stream.memories, encoder, positions):
        asked = at[positions[number]]
        for start in range(0, len(asked), 8):
            some = asked[start : start + 8]
            moments = [moment(past, one.query, one.hidden) for one in some]
            match_together(moments)
            found += [lesson for one, known in zip(some, moments) if (lesson := _lesson(known, one, config)) is not None]
    return found


def _lesson(known: Moment, one: Labelled, config: Adapt) -> Lesson | None:
    gain = np.zeros(len(known.rows), np.float32)
    for use in one.uses:
        place = int(np.searchsorted(known.rows, known.past.row_of.get(use.memory_id, -1)))
        if place < len(gain) and known.past.memories[known.rows[place]].memory_id == use.memory_id:
            gain[place] = use.gain
    order = np.argsort(-gain, kind="stable")[: config.used]
    chosen = order[gain[order] > 0].tolist()
    if not chosen or len(known.rows) <= config.candidates:
        return None
    best, match = chosen[0], known.maxsim_query[1]
    rest = zscore(known.bm25_window) + _about(known)
    wanted = config.candidates - len(chosen)
    chosen += _misleading(known, rest + np.float32(LATE) * zscore(match), gain, best, wanted // 2)
    # The likeliest alone would teach that what matches is wrong (it cost .065 nDCG@10): as many are drawn from the whole pool.
    others = sorted(set(range(len(gain))) - set(chosen) - set(np.flatnonzero(gain).tolist()))
    chosen += random.Random(one.query.query_id).sample(others, min(len(others), config.candidates - len(chosen)))
    return Lesson(
        user_id=one.query.user_id,
        query=one.query.text,
        memories=tuple(known.past.memories[known.rows[place]].text for place in chosen),
        rest=rest[chosen].astype(np.float32),
        shares=known.token_shares(known.encoded),
        mean=float(match.mean()),
        spread=float(match.std()) + 1e-6,
        target=gain[chosen] / gain[chosen].sum(),
        weight=one.weight,
        kind=one.kind,
    )


def _about(known: Moment) -> Floats:
    """As the feature ``speaker``."""
    if known.about is None:
        return np.zeros(len(known.rows), np.float32)
    return np.where(known.past.speaker.view[known.take] == known.past.speakers[known.about], 1, -1).astype(np.float32)


def _misleading(known: Moment, score: Floats, gain: Floats, best: int, wanted: int) -> list[int]:
    """Places of unused memories: by turns the likeliest of the same topic, of another speaker, and of the same speaker on another
    day (an older value, the wrong date)."""
    speaker, session = known.past.speaker.view[known.take], known.past.session.view[known.take]
    same = speaker == speaker[best]
    order = [place for place in np.argsort(-score, kind="stable").tolist() if gain[place] <= 0]
    kinds = [order, [p for p in order if not same[p]], [p for p in order if same[p] and session[p] != session[best]]]
    chosen: dict[int, None] = {}
    for rank in range(len(order)):
        for places in kinds:
            if rank < len(places) and len(chosen) < wanted:
                chosen[places[rank]] = None
        if len(chosen) >= wanted:
            break
    return list(chosen)


class LowRank(nn.Module):
    """A linear map and what is learned beside it."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, states: Tensor) -> Tensor:
        return self.base(states) + (states @ self.down.T) @ self.up.T


class Layers:
    """The last layers with their changes, over states that each text reaches once. Raises ConfigError on another architecture."""

    def __init__(self, encoder: HfEncoder, config: Adapt) -> None:
        model = deepcopy(encoder.model)
        stack = getattr(getattr(model, "encoder", None), "layer", None)
        if not isinstance(stack, nn.ModuleList) or len(stack) <= config.layers:
            raise ConfigError([f"adapt.layers={config.layers}: wanted a BERT-like encoder of more layers"])
        self.encoder, self.config = encoder, config
        self.numbers = tuple(range(len(stack) - config.layers, len(stack)))
        self.upper = stack[self.numbers[0] :]
        model.encoder.layer = stack[: self.numbers[0]]
        self.lower = model.requires_grad_(False).eval()
        torch.manual_seed(config.seed)
        self.maps: dict[str, LowRank] = {}
        for number, layer in zip(self.numbers, self.upper):
            layer.requires_grad_(False).eval()
            for name, part in list(layer.named_modules()):
                if isinstance(part, nn.Linear):
                    parent, _, last = name.rpartition(".")
                    self.maps[f"encoder.layer.{number}.{name}.weight"] = changed = LowRank(part, config.rank)
                    setattr(layer.get_submodule(parent), last, changed)
        projection = encoder.projection
        self.projection = None if projection is None else torch.from_numpy(projection)
        self.states: dict[str, Tensor] = {}  # (tokens, dimension) float16, specials included
        self.kept: dict[str, Tensor] = {}  # (tokens,) the text's own

    def parameters(self) -> list[Tensor]:
        return [part for changed in self.maps.values() for part in (changed.up, changed.down)]

    @torch.no_grad()
    def prepare(self, texts: Sequence[str]) -> None:
        """Takes each text through the frozen layers."""
        new = sorted(set(texts) - set(self.states))
        if not new:
            return
        ids, kept = self.encoder.pieces_of(new, self.config.longest)
        for places in batches([len(row) for row in ids], ROWS_AT_ONCE):
            longest = max(len(ids[place]) for place in places)
            pieces, mask = np.zeros((len(places), longest), np.int64), np.zeros((len(places), longest), np.int64)
            for row, place in enumerate(places):
                pieces[row, : len(ids[place])], mask[row, : len(ids[place])] = ids[place], 1
            with torch.autocast("cpu", torch.bfloat16):
                states = self.lower(
                    input_ids=torch.from_numpy(pieces), attention_mask=torch.from_numpy(mask)
                ).last_hidden_state
            for row, place in enumerate(places):
                self.states[new[place]] = states[row, : len(ids[place])].to(torch.float16, copy=True)
                self.kept[new[place]] = torch.tensor(kept[place])

    def tokens(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Text -> (tokens, token dimension) unit rows, as the encoder would give them with these changes."""
        found: dict[str, Tensor] = {}
        for places in batches([len(self.states[text]) for text in texts], ROWS_AT_ONCE):
            some = [texts[place] for place in places]
            states = nn.utils.rnn.pad_sequence([self.states[text].float() for text in some], batch_first=True)
            lengths = torch.tensor([len(self.states[text]) for text in some])
            mask = (torch.arange(states.shape[1]) < lengths[:, None])[:, None, None, :]
            with torch.autocast("cpu", torch.bfloat16):
                for layer in self.upper:
                    states = layer(states, mask)
            rows = normalize(states.float(), dim=-1)
            if self.projection is not None:
                rows = normalize(rows @ self.projection, dim=-1)
            found |= {text: rows[row, : len(self.kept[text])][self.kept[text]] for row, text in enumerate(some)}
        return found

    def changes(self) -> dict[str, tuple[Floats, Floats]]:
        return {name: (c.up.detach().numpy().copy(), c.down.detach().numpy().copy()) for name, c in self.maps.items()}


def fit(layers: Layers, training: Sequence[Lesson], config: Adapt) -> Iterator[tuple[int, float]]:
    """(step, loss) a step. Raises DataError where nothing is to be learned."""
    if not training:
        raise DataError("adapter", "no training query", "mined logs of more than some dozen turns a user")
    optimiser = torch.optim.AdamW(layers.parameters(), config.learning_rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, config.learning_rate, total_steps=config.steps + 1, pct_start=0.1
    )
    for step, some in enumerate(batches_of(training, config)):
        loss = batch_loss(layers, some)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        yield step, float(loss.detach())


def batches_of(training: Sequence[Lesson], config: Adapt) -> Iterator[list[Lesson]]:
    """Each of a few users: their memories recur, so a step has fewer texts to run. Drawn by weight."""
    by_user: dict[str, list[Lesson]] = defaultdict(list)
    for one in training:
        by_user[one.user_id].append(one)
    users = sorted(by_user)
    weights = [sum(one.weight for one in by_user[user]) for user in users]
    rng = random.Random(config.seed)
    for _ in range(config.steps):
        chosen = rng.choices(users, weights, k=USERS_A_BATCH)
        yield [
            one
            for user in chosen
            for one in rng.choices(by_user[user], [one.weight for one in by_user[user]], k=config.batch // USERS_A_BATCH)
        ]


def batch_loss(layers: Layers, some: Sequence[Lesson]) -> Tensor:
    found = layers.tokens(sorted({text for one in some for text in (one.query, *one.memories)}))
    scores = [_scores(one, found) for one in some]
    target = [torch.from_numpy(one.target) for one in some]
    padded = nn.utils.rnn.pad_sequence(scores, batch_first=True)
    mask = torch.arange(padded.shape[1]) < torch.tensor([len(row) for row in scores])[:, None]
    return listwise(padded, nn.utils.rnn.pad_sequence(target, batch_first=True), mask).mean()


def _scores(one: Lesson, found: dict[str, Tensor]) -> Tensor:
    query = found[one.query]
    shares = torch.from_numpy(one.shares[: len(query)])
    match = torch.stack(
        [(found[text] @ query.T).amax(0) @ shares if len(found[text]) else query.new_zeros(()) for text in one.memories]
    )
    return torch.from_numpy(one.rest) + LATE * (match - one.mean) / one.spread


def size_of(changes: dict[str, tuple[Floats, Floats]]) -> int:
    """Numbers that were learned."""
    return sum(up.size + down.size for up, down in changes.values())


def lessons_of(
    logs: Sequence[Sequence[Mined]], miner: Miner, labeler: Labeler, encoding: Encoding, config: Adapt, jobs: int = 1
) -> list[Lesson]:
    """Of several logs, each of which weighs the same, however long it is: its users' queries, as many as ``config.queries`` has
    room for. Every second user gets a name."""
    encoder, found = built(encoding), list[Lesson]()
    for streams in logs:
        named = [
            shortened(stream, random.Random(stream.user_id).sample(NAMES, 2 * (number % 2)), miner, config)
            for number, stream in enumerate(streams)
        ]
        labelled = label_each(named, labeler, encoding, jobs)
        kept = {
            (one.query.user_id, one.query.query_id): one
            for one in labeler.balance([one for rows in labelled for one in rows])
        }
        room = config.queries // len(logs) // max(1, len(streams))
        taught = list[Lesson]()
        for stream, rows in zip(named, labelled):
            own = [kept[key] for one in rows if (key := (one.query.user_id, one.query.query_id)) in kept]
            own = random.Random(f"{config.seed}:{stream.user_id}").sample(own, min(room, len(own)))
            taught += lessons(stream, own, encoder, config)
        total = sum(one.weight for one in taught)
        found += [replace(one, weight=one.weight / total) for one in taught]
    return found


def shortened(stream: Mined, names: Sequence[str], miner: Miner, config: Adapt) -> Mined:
    """The first turns of a user, each cut to what training reads of it, so that no question is about the rest. ``names`` for
    user and assistant, so that questions about a third person are learned too; none keeps the roles."""
    by_role: dict[str, str] = dict(zip(("user", "assistant"), names))
    turns = tuple(
        replace(turn, text=clip(turn.text, config.longest * 2 // 3), speaker=by_role.get(turn.role, turn.speaker))
        for turn in stream.turns[: config.turns]
    )
    return Mined(stream.user_id, turns, miner.mine(turns, stream.user_id, ""))
