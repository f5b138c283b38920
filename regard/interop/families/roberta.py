"""RoBERTa: BERT's layers; positions begin after the padding token's number, and the heads have other names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from regard.base.errors import RegardError
from regard.interop.families.bert import Bert
from regard.interop.family import NEVER, Entry, affine


@dataclass(frozen=True)
class Roberta(Bert):
    """The names of RoBERTa."""

    prefix: ClassVar[str] = "roberta."
    tasks: ClassVar[Mapping[str, str]] = {
        "RobertaForMaskedLM": "masked",
        "RobertaForSequenceClassification": "classify",
        "RobertaForTokenClassification": "tag",
        "RobertaModel": "embed",
    }
    defaults: ClassVar[Mapping[str, Any]] = {**Bert.defaults, "vocab_size": 50265, "pad_token_id": 1}
    unread: ClassVar[str] = r"position_ids$|lm_head\.bias$|decoder\.(weight|bias)$|pooler\."
    aliases: ClassVar[Mapping[str, str]] = {"lm_head.decoder.bias": "lm_head.bias"}
    output: ClassVar[str] = "lm_head.decoder.weight"
    copies: ClassVar[Mapping[str, str]] = {
        "lm_head.decoder.weight": "roberta.embeddings.word_embeddings.weight",
        "lm_head.decoder.bias": "lm_head.bias",
    }
    separators: ClassVar[int] = 2

    def settings(self, config: Mapping[str, Any]) -> dict[str, Any]:
        masked = "RobertaForMaskedLM" in (config.get("architectures") or ())
        if masked and config["hidden_act"] != "gelu":
            raise RegardError(
                f"hidden_act is {config['hidden_act']!r}, but the masked-token head of RoBERTa has 'gelu' in any case, "
                "and only the same one for all layers can be read"
            )
        return super().settings(config)

    def offset(self, config: Mapping[str, Any]) -> int:
        return int(config["pad_token_id"]) + 1

    def head(self, model: Mapping[str, Any], task: str) -> Iterator[Entry]:
        if task == "embed":
            return
        if task == "tag":
            yield from affine("head.outer", "classifier")
            return
        if task == "classify":
            yield from affine("head.inner", "classifier.dense")
            yield from affine("head.outer", "classifier.out_proj")
            return
        yield from affine("head.inner", "lm_head.dense")
        yield from affine("head.norm", "lm_head.layer_norm")
        if model["tie"] == "target":
            yield Entry("head.output.bias", ("lm_head.bias",), vocabulary=True, missing=NEVER)
            return
        yield Entry("head.output.weight", ("lm_head.decoder.weight",), vocabulary=True)
        yield Entry("head.output.bias", ("lm_head.decoder.bias",), vocabulary=True, missing=NEVER)
