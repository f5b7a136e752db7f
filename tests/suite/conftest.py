from pathlib import Path

import pytest

from hindsight.measure.ranking import measure, parse
from hindsight.miner.turns import Turns

ALL = parse(["recall@10", "recall_any@10", "recall_all@10", "ndcg@10", "mrr"])


@pytest.fixture
def perfect():
    """Measures of a system that recalls exactly the memories of the relevant turns, mined from the past alone."""

    def measured(case):
        memories = Turns().mine(case.turns, case.query.user_id, case.query.dialogue_id)
        assert all(memory.born < case.query.asked_at for memory in memories)
        relevant = [memory.memory_id for memory in memories if set(memory.sources) & set(case.relevant)]
        assert len(relevant) == len(case.relevant)
        return measure(ALL, relevant, set(relevant))

    return measured


@pytest.fixture
def shared():
    """The folder of real data, which is not part of the project."""
    folder = Path(__file__).resolve().parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("needs the real data in ../shared/data")
    return folder
