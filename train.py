"""The whole pipeline from raw logs: mines, labels, trains, calibrates, exports. `python train.py logs.path=FILE_OR_DIR`"""

import sys

from hindsight.cli import main

if __name__ == "__main__":
    sys.exit(main(["all", *sys.argv[1:]] if not {"-h", "--help"} & set(sys.argv) else ["--help"]))
