import json
from dataclasses import asdict, replace

import pytest

from hindsight.encoder.golden import Golden, check, golden
from hindsight.encoder.hashing import HashingEncoder
from hindsight.encoder.hf import PACKAGE, HfEncoderConfig
from hindsight.types import DataError


def test_the_same_encoder_passes_after_a_round_trip():
    body = json.loads(json.dumps(asdict(golden(HashingEncoder()))))
    check(HashingEncoder(), Golden(body["fingerprint"], tuple(body["texts"]), tuple(map(tuple, body["pooled"]))))


def test_another_dimension_is_refused():
    with pytest.raises(DataError, match="dimension 64"):
        check(HashingEncoder(64), golden(HashingEncoder(128)))


def test_other_vectors_of_one_dimension_are_refused():
    wanted = golden(HashingEncoder())
    with pytest.raises(DataError, match="cosine"):
        check(HashingEncoder(), replace(wanted, pooled=wanted.pooled[::-1]))


def test_another_precision_passes_and_a_prefix_does_not():
    pytest.importorskip(PACKAGE)
    wanted = golden(HfEncoderConfig().build())
    check(HfEncoderConfig(dtype="bfloat16", token_dimension=0).build(), wanted)
    with pytest.raises(DataError, match="cosine"):
        check(HfEncoderConfig(prefix="passage: ").build(), wanted)
