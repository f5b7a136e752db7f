"""Arrays that grow, and the words of each row: what the past is made of."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hindsight.types import Floats, Ints


class Column:
    """A float32 array (rows, width) that grows by doubling. ``view`` is never a copy."""

    def __init__(self, width: int = 0, dtype: npt.DTypeLike = np.float32) -> None:
        self._data: npt.NDArray[Any] = np.zeros((64, width) if width else 64, dtype)
        self.size = 0

    def extend(self, values: npt.NDArray[Any]) -> None:
        wanted = self.size + len(values)
        if wanted > len(self._data):
            grown = np.zeros((max(wanted, 2 * len(self._data)), *self._data.shape[1:]), self._data.dtype)
            grown[: self.size] = self._data[: self.size]
            self._data = grown
        self._data[self.size : wanted] = values
        self.size = wanted

    def append(self, value: float | npt.NDArray[Any]) -> None:
        self.extend(np.asarray([value], self._data.dtype))

    @property
    def view(self) -> npt.NDArray[Any]:
        return self._data[: self.size]


class Postings:
    """term -> rows that hold it and how often, appended in row order."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}  # of each term, in order of appearance
        self._rows: list[array[int]] = []
        self._counts: list[array[float]] = []
        self._frequency = Column(dtype=np.int64)  # rows that hold each term
        self._flat, self._start = Column(dtype=np.int32), Column(dtype=np.int64)  # distinct terms of each row, row after row
        self._start.append(0)

    def __len__(self) -> int:
        """Rows."""
        return self._start.size - 1

    def add(self, bag: Mapping[str, int]) -> None:
        """The next row's terms and their counts."""
        row, numbers = len(self), np.empty(len(bag), np.int32)
        for place, (term, count) in enumerate(bag.items()):
            number = self._number.setdefault(term, len(self._rows))
            if number == len(self._rows):
                self._rows.append(array("i"))
                self._counts.append(array("f"))
                self._frequency.append(0)
            self._rows[number].append(row)
            self._counts[number].append(count)
            numbers[place] = number
        self._frequency.view[numbers] += 1
        self._flat.extend(numbers)
        self._start.append(self._flat.size)

    def get(self, term: str) -> tuple[npt.NDArray[np.int32], Floats]:
        """(rows, counts), empty for an unknown term. Copies: an array that is exposed cannot grow."""
        number = self._number.get(term)
        if number is None:
            return np.zeros(0, np.int32), np.zeros(0, np.float32)
        return np.array(self._rows[number], np.int32), np.array(self._counts[number], np.float32)

    def frequency(self, term: str) -> int:
        number = self._number.get(term)
        return 0 if number is None else len(self._rows[number])

    def idf(self, term: str) -> float:
        """Lucene's, never negative: ln(1 + (N - n + .5) / (n + .5)) over the rows so far."""
        return float(idf(len(self), np.array(self.frequency(term))))

    def shared(self, row: int, most: int) -> Floats:
        """(rows,) idf mass of the terms that each shares with this one, of terms that at most ``most`` rows hold."""
        found = np.zeros(len(self), np.float32)
        numbers = self._flat.view[self._start.view[row] : self._start.view[row + 1]]
        frequency = self._frequency.view[numbers]
        for number, weight in zip(numbers[frequency <= most].tolist(), idf(len(self), frequency[frequency <= most])):
            found[np.array(self._rows[number], np.int32)] += np.float32(weight)
        return found

    def idf_mass(self, rows: Ints) -> Floats:
        """(rows,) sum of the idf of each row's distinct terms."""
        if len(rows) == 0:
            return np.zeros(0, np.float32)
        return self._sums(rows, lambda numbers: idf(len(self), self._frequency.view[numbers]))

    def mass(self, rows: Ints, weight: Mapping[str, float]) -> Floats:
        """(rows,) sum of the weights of each row's distinct terms; a term without one has none."""
        by_number = np.zeros(len(self._rows))
        for term, value in weight.items():
            if (number := self._number.get(term)) is not None:
                by_number[number] = value
        return self._sums(rows, lambda numbers: by_number[numbers])

    def _sums(self, rows: Ints, weigh: Callable[[Ints], npt.NDArray[np.float64]]) -> Floats:
        """(rows,) of each row's distinct terms."""
        where, begins = segments(self._start.view, rows)
        summed = np.concatenate([[0.0], np.cumsum(weigh(self._flat.view[where]))])
        return (summed[np.append(begins[1:], len(where))] - summed[begins]).astype(np.float32)


def idf(total: int, frequency: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    return np.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def segments(start: Ints, rows: Ints) -> tuple[Ints, Ints]:
    """(places of all elements of these rows' segments, where each row's begin among them). Row i holds start[i] to start[i + 1]."""
    lengths = start[rows + 1] - start[rows]
    begins = np.cumsum(lengths) - lengths
    return np.repeat(start[rows] - begins, lengths) + np.arange(int(lengths.sum())), begins
