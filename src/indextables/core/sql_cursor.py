"""`WordCursor`: the words of a SQL text, read one after another."""

from __future__ import annotations

from collections.abc import Sequence

from indextables.core.sql_tokens import Word


class WordCursor:
    """A place in the words of a SQL text. The last word is of kind `end`."""

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._index = 0

    def at_end(self) -> bool:
        """Whether all words were read."""
        return self.word.kind == "end"

    @property
    def word(self) -> Word:
        """The next word, not read yet."""
        return self._words[self._index]

    @property
    def following(self) -> Word:
        """The word after the next one. There is none after the end."""
        return self._words[min(self._index + 1, len(self._words) - 1)]

    def next(self) -> Word:
        """Read a word. The end stays where it is."""
        word = self.word
        if word.kind != "end":
            self._index += 1
        return word

    def take(self, *keywords: str) -> bool:
        """Go past these words if they come next."""
        found = tuple(word.upper for word in self._words[self._index : self._index + len(keywords)])
        if found == keywords:
            self._index += len(keywords)
        return found == keywords
