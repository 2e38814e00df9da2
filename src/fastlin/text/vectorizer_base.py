"""Base of vectorisers that read documents: their parameters, their terms, their blocks of texts."""

from collections.abc import Iterable
from typing import Any

from fastlin.text import document_blocks
from fastlin.text.analyzer import AnalyzerMixin
from fastlin.text.arrow_documents import python_strings, string_column, string_slices
from fastlin.text.vocabulary import DictVocabulary, NativeVocabulary

FEATURES_PER_BLOCK = 1 << 16  # that are counted together, where a user's functions find them


class VectorizerBase(AnalyzerMixin):
    """The base of vectorisers of texts: an analyzer, the terms that it finds, and the documents in blocks."""

    def _new_terms(self) -> NativeVocabulary | DictVocabulary:
        spec = self._tokenizer_spec()
        return DictVocabulary() if spec is None else NativeVocabulary(spec, self._stop_list())

    def _stop_list(self) -> frozenset[str]:
        words = self.get_stop_words() if self.analyzer == "word" else None
        return frozenset(word for word in words or () if isinstance(word, str))

    def _blocks(self, raw_documents: Any, name: str = "raw_documents") -> Iterable[Any]:
        """Input of the terms: texts, or the features that a user's analysis gives; `name` is the argument's."""
        spec, column = self._tokenizer_spec(), string_column(raw_documents)
        if column is not None:
            if spec is not None and self._reads_ascii_as_it_is(spec) and not column.null_count:
                return string_slices(column, self._text_of(spec), document_blocks.CHARACTERS_PER_BLOCK)
            raw_documents = python_strings(column)
        elif hasattr(raw_documents, "iloc"):  # a Series is iterated slowly
            raw_documents = raw_documents.tolist()
        if spec is not None:
            return document_blocks.iter_blocks(
                raw_documents, self._text_of(spec), document_blocks.CHARACTERS_PER_BLOCK, name
            )
        analyze = self.build_analyzer()
        return document_blocks.iter_blocks(
            raw_documents, lambda document: list(analyze(document)), FEATURES_PER_BLOCK, name
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags
