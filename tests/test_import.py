import subprocess
import sys


def test_the_front_door_needs_neither_torch_nor_hydra():
    code = "import sys, hindsight; assert callable(hindsight.load); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert not loaded & {"torch", "hydra", "omegaconf", "transformers", "datasets", "accelerate", "wandb"}
    assert run.stderr == ""


def test_the_injector_is_loaded_by_name_alone():
    code = "import sys, hindsight.inject; print(*sys.modules); assert callable(hindsight.inject.tune_bias) and 'torch' in sys.modules"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & {"torch", "transformers"}
