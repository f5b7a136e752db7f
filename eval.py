"""The whole evaluation. `python eval.py suite=locomo suite.path=FILE scorer.path=DIR system=[bm25,prior,utility]`"""

import sys

from hindsight.cli import main

if __name__ == "__main__":
    sys.exit(main(["eval", *sys.argv[1:]] if not {"-h", "--help"} & set(sys.argv) else ["--help"]))
