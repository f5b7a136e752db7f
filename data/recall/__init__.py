"""Makes the suite fact_recall: long dialogues, and questions asked at a known distance from the turn that answers them.

Two worlds, ``train`` and ``test``, whose content (``train_en.txt``, ``test_en.txt``, ...) was written apart. ``content`` reads it,
``plan`` decides what a person tells and is asked, and when; ``stream`` writes the turns; ``python -m data.recall`` the files.
"""

VERSION = 2  # of the suite. Any change of content, seed, program or files makes a new one: data/README.md
SEED = 20261201
_EIGHT = ("en", "en", "en", "en", "zh", "en", "en", "en", "zh", "en")  # the language of each person of a round
_SEVEN = ("en", "en", "zh", "en", "en", "zh", "en", "zh", "en", "en")
ROUNDS = {"test": (_EIGHT, _EIGHT, _SEVEN), "train": (_EIGHT,)}
DISTANCES = (10, 30, 100, 300)
