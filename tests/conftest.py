"""What tests of several folders share: one small trained run, made once."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from hindsight.cli import main
from tests import people

# A busy machine is no failure: nothing is said of time but by bench/.
settings.register_profile("calm", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("calm")

# without a model, without a cache on disk, in this process
SMALL = (
    "encoder=hashing", "encoder.dimension=32", "cache.folder=", "labeler.least_pool=8", "fit.epochs=3", "run.jobs=1",
    "run.held_out=0.3",
)  # fmt: skip


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Path:
    """A folder with log.jsonl and ``runs``, in which the run ``default`` was mined, labelled and trained. Not to be changed."""
    folder = tmp_path_factory.mktemp("trained")
    log = people.write_lines(folder / "log.jsonl", people.native())
    assert main(["all", f"logs.path={log}", f"run.folder={folder}/runs", *SMALL]) == 0
    return folder
