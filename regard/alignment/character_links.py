"""Character alignment, for models that read and write single characters or short pieces."""

from regard.alignment.cross_weights import look
from regard.data.links import Link, Links
from regard.data.subwords.tokenizer import MARK, Subwords
from regard.decoding.translator import Translator


def character_links(translator: Translator, source: str, target: str, layer: str | None = None) -> Links:
    """Each target character with the source character that had the most attention when its token was predicted.

    A token's weight is shared equally by its characters; of equal ones the first is taken. The weight of tokens without
    characters, such as a word-start marker or `</s>`, is ignored.
    """
    looked = look(translator, source, target, layer)
    read, said = _spans(translator.source, source), _spans(translator.target, target)
    shares = [(weight_at, at, 1 / len(span)) for weight_at, span in enumerate(read) for at in span]
    links: list[Link] = []
    for row, characters in zip(looked.weights, said, strict=False):
        weights = [(float(row[token]) * share, -at) for token, at, share in shares]
        if weights and characters:
            best, place = max(weights)
            links += [Link(-place, at, min(best, 1.0)) for at in characters]
    return tuple(sorted(links, key=lambda link: (link.target, link.source)))


def _spans(subwords: Subwords, text: str) -> list[list[int]]:
    """The positions of each token's characters that are not spaces."""
    pieces = subwords.encode_with_offsets(text)
    spans = ((piece, range(piece.start, piece.end)) for piece in pieces)
    return [
        [] if subwords.pieces[piece.id] == MARK else [at for at in span if not text[at].isspace()]
        for piece, span in spans
    ]
