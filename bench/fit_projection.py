"""Fit the projection of token vectors. Without logs, on random strings of the model's own wordpieces:

    python bench/fit_projection.py hindsight/encoder/projection_minilm.safetensors
    python bench/fit_projection.py my.safetensors --logs logs.jsonl        # then encoder.projection=my.safetensors

Uncentered PCA: right singular vectors of the unit token vectors, largest first, so that the first d columns are the best
d-dimensional projection for dot products. Not centred, since MaxSim takes dot products of uncentred vectors. Random
wordpieces favour no domain. MaxSim-idf nDCG@10 of 128 dimensions minus that of all 384 (bench/token_storage.py): LoCoMo +.004,
BEAM-100K -.007 (-.013 in the worst of five other draws); fitted on SGD -.002 and -.020, on the bundled logs +.005 and -.019,
on the measured turns themselves +.003 and -.013.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from safetensors.numpy import save

from hindsight.encoder.hf import DEFAULT, HfEncoder, HfEncoderConfig
from hindsight.types import Floats

TEXTS = 20_000
RANDOM_TEXTS, PIECES = 4_000, 14


def texts_of(value: object) -> Iterator[str]:
    """Every string under ``text``, ``utterance`` or ``content``, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str) and key in ("text", "utterance", "content"):
                yield inner
            else:
                yield from texts_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_of(inner)


def random_texts(encoder: HfEncoder) -> list[str]:
    """Texts of wordpieces drawn from the whole vocabulary, without special and unused ones."""
    tokenizer = encoder.tokenizer
    spelt = [tokenizer.decode([piece]).strip().removeprefix("##") for piece in range(len(tokenizer))]
    pieces = [piece for piece in spelt if piece and not (len(piece) > 1 and piece[0] in "[<")]
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(pieces, PIECES)) for _ in range(RANDOM_TEXTS)]


def read(path: Path) -> Iterator[str]:
    for file in sorted(path.rglob("*.json*")) if path.is_dir() else [path]:
        text = file.read_text("utf-8")
        records = map(json.loads, filter(str.strip, text.split("\n"))) if file.suffix == ".jsonl" else [json.loads(text)]
        for record in records:
            yield from texts_of(record)


def components(encoder: HfEncoder, texts: Sequence[str]) -> tuple[npt.NDArray[np.float16], Floats]:
    """(dimension, dimension) with the directions as columns, and each one's share of the vectors' squared length."""
    moment = np.zeros((encoder.dimension, encoder.dimension))
    for _, _, rows, _ in encoder.states(texts):
        moment += rows.T @ rows
    values, vectors = np.linalg.eigh(moment)
    vectors = vectors[:, ::-1]
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(len(vectors))])  # an eigenvector's sign is arbitrary
    return (vectors * signs).astype(np.float16), (values[::-1] / values.sum()).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("to", type=Path)
    parser.add_argument("--logs", type=Path, nargs="*", default=())
    parser.add_argument("--model", default=DEFAULT)
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoder = HfEncoderConfig(options.model, token_dimension=0).build()
    texts = sorted({text for path in options.logs for text in read(path)}) or random_texts(encoder)
    chosen = np.random.default_rng(0).permutation(len(texts))[:TEXTS]
    found, share = components(encoder, [texts[i] for i in sorted(chosen)])
    options.to.write_bytes(save({"components": found}))
    kept = {d: round(float(share[:d].sum()), 3) for d in (64, 128, 192, 256)}
    print(f"{len(chosen)} of {len(texts)} texts; share of squared length kept, by dimension: {kept}")


if __name__ == "__main__":
    main()
