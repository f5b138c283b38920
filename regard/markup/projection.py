"""Tag projection: where the tags of a text belong in its translation, by word alignment.

An element encloses the run of target words that agrees best with it,

    argmax over runs of   sum over words t in the run of  (in(t) - out(t)) / (in(t) + out(t))

with in(t) and out(t) the confidences of t's links to source words inside and outside the element. So one wrong link far
away does not stretch an element over half a sentence, as the hull of all links would. Elements stay inside their
parents and apart from their siblings; every tag is written once. The problem and other solutions:
Müller 2017 (https://aclanthology.org/W17-4804), Hanneman and Dinu 2020 (https://aclanthology.org/2020.wmt-1.138).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy import ndarray

from regard.markup.segments import Mark, SegmentText
from regard.markup.units import Bonds, Units

Placement = tuple[int, Mark]


@dataclass
class _Element:
    """A pair of tags, or a single one, with its source units [first, last) and, once known, its target units."""

    opening: int
    first: int
    closing: int = -1
    last: int = -1
    children: "list[_Element]" = field(default_factory=list)
    start: int = 0
    end: int = 0
    after: bool = False
    """whether an element without words stays with the word before it"""

    @property
    def wordless(self) -> bool:
        return self.first == self.last


class Projection:
    """The tags of a segment's text, placed in a target by the bonds between the units of both."""

    def __init__(self, reading: SegmentText, source: Units, target: Units, bonds: Bonds) -> None:
        self.marks, self.source, self.target = reading.marks, source, target
        order = np.argsort(bonds[0], kind="stable")
        self.from_, self.to, self.weight = (column[order] for column in bonds)
        self.total = np.bincount(self.to, self.weight, len(target))

    def place(self) -> list[Placement]:
        """Every mark with its position in the target, in the order of writing."""
        root = self._tree()
        root.start, root.end = 0, len(self.target)
        waiting = [root]
        while waiting:
            element = waiting.pop()
            self._settle(element)
            waiting += element.children
        return self._written(root)

    def _tree(self) -> _Element:
        root = _Element(-1, 0, last=len(self.source))
        path = [root]
        for number, (at, mark) in enumerate(self.marks):
            unit = self.source.before(at)
            if mark.role == "close":
                element = path.pop()
                element.closing, element.last = number, unit
                continue
            element = _Element(number, unit, last=unit)
            path[-1].children.append(element)
            if mark.role == "open":
                path.append(element)
        return root

    def _settle(self, parent: _Element) -> None:
        """Give each child its run of target units."""
        taken = np.zeros(len(self.target), bool)
        for child in parent.children:
            if child.wordless:
                continue
            if (child.first, child.last) == (parent.first, parent.last):
                child.start, child.end = parent.start, parent.end
            else:
                child.start, child.end = self._best_run(child, parent, taken)
            taken[child.start : child.end] = True
            if child.start == child.end:
                self._put_at_point(child, parent)
        for child in parent.children:
            if child.wordless:
                self._put_at_point(child, parent)
        self._move_out_of_siblings(parent)
        parent.children.sort(key=lambda one: (one.start, one.end > one.start, one.opening))

    def _best_run(self, child: _Element, parent: _Element, taken: ndarray) -> tuple[int, int]:
        """The best run for a child; runs begin and end at units with links into the child."""
        to, weight = self._links(child.first, child.last, parent)
        if not len(to) or taken[to].all():
            return parent.start, parent.start
        least, most = int(to.min()), int(to.max()) + 1
        total, free = self.total[least:most], ~taken[least:most]
        share = np.bincount(to - least, weight, most - least) / np.maximum(total, 1e-9)
        sums = np.concatenate([[0.0], np.cumsum(np.where(free, np.where(total > 0, 2 * share - 1, 0.0), -1e9))])
        # The latest minimum of the prefix sums before each place: of equally good runs, the shortest.
        lowest = np.minimum.accumulate(sums)
        at_lowest = np.maximum.accumulate(np.where(sums == lowest, np.arange(len(sums)), 0))
        end = int((sums - lowest).argmax())
        start = int(at_lowest[end])
        if sums[end] - lowest[end] <= 1e-9:
            start = int((share * free).argmax())
            end = start + 1
        return least + start, least + end

    def _links(self, first: int, last: int, parent: _Element) -> tuple[ndarray, ndarray]:
        """The target units inside the parent that have bonds to source units [first, last), with confidences."""
        some = slice(*np.searchsorted(self.from_, [first, last]))
        to, weight = self.to[some], self.weight[some]
        within = (to >= parent.start) & (to < parent.end)
        return to[within], weight[within]

    def _put_at_point(self, child: _Element, parent: _Element) -> None:
        """Place an element without words beside the translation of its neighboring word."""
        space_before, space_after = self.source.space(child.first, self.marks[child.opening][0])
        at_start, at_end = child.first <= parent.first, child.last >= parent.last
        child.after = at_end or (not at_start and space_before == 0 and space_after > 0)
        if at_start or at_end:
            place = parent.start if at_start else parent.end
            child.after = at_end and not at_start
        else:
            place = self._beside(child, parent)
        child.start = child.end = place

    def _beside(self, child: _Element, parent: _Element) -> int:
        neighbors = [(child.first - 1, 1), (child.last, 0)]
        for unit, side in neighbors if child.after else reversed(neighbors):
            to, weight = self._links(unit, unit + 1, parent)
            if len(to):
                return int(to[weight.argmax()]) + side
        share = (child.first - parent.first) / max(parent.last - parent.first, 1)
        return parent.start + round(share * (parent.end - parent.start))

    def _move_out_of_siblings(self, parent: _Element) -> None:
        runs = sorted((one.start, one.end) for one in parent.children if one.end > one.start)
        starts = np.array([start for start, _ in runs], int)
        for child in parent.children:
            if child.start < child.end or not runs:
                continue
            start, end = runs[max(int(np.searchsorted(starts, child.start, "right")) - 1, 0)]
            if start < child.start < end:
                child.start = child.end = start if child.start - start <= end - child.start else end

    def _written(self, root: _Element) -> list[Placement]:
        """The marks in the order of the tree, each next to its words; none before its predecessor."""
        placed: list[Placement] = []
        limits = [len(self.target.text)]
        waiting: list[tuple[_Element, bool]] = [(child, True) for child in reversed(root.children)]
        while waiting:
            element, opens = waiting.pop()
            least = placed[-1][0] if placed else 0
            number = element.opening if opens else element.closing
            at = min(max(self._tight(element, opens), least), limits[-1])
            placed.append((at, self.marks[number][1]))
            if not opens:
                limits.pop()
            elif element.closing >= 0:
                limits.append(min(max(self._tight(element, False), at), limits[-1]))
                waiting.append((element, False))
                waiting += [(child, True) for child in reversed(element.children)]
        return placed

    def _tight(self, element: _Element, opens: bool) -> int:
        """The position of a tag: as far from its words as in the source."""
        empty = element.start == element.end
        if empty and not opens and not element.wordless:
            return self._tight(element, True)
        number = element.opening if opens else element.closing
        unit = element.first if opens else element.last
        before, after = self.source.space(unit, self.marks[number][0])
        place = element.start if opens else element.end
        keeps_before = element.after if empty else not opens
        return self.target.after(place, before) if keeps_before else self.target.ahead(place, after)


def project(reading: SegmentText, source: Units, target: Units, bonds: Bonds) -> Sequence[Placement]:
    """The marks of a segment's text in its translation, each with its position."""
    return Projection(reading, source, target, bonds).place() if reading.marks else []
