"""Families of models beside transformers: the same weights, the same batch, both in this process, taking turns.

python benchmarks/families.py [--json FILE] [--rounds N] [--only NAME …]

For each family: the largest difference of logits, relative to the largest logit, of a folder that is read here, and of
that model written back and read by transformers; beside it, how far their own logits are from those in float64; whether
greedy texts are the same, token by token; processor time of theirs over ours for a forward pass, and for writing with
the KV cache; and what recording the weights of one head adds to a forward pass, here beside the fused kernel, there
with the eager one that gives weights at all.

A further family is a further line of `FAMILIES`.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
import transformers
from measure import Timing, machine, print_table, quartiles, spread, take_turns, write_json
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import Tensor

from regard.attention.record import attention_layers, record
from regard.decoding.search import search
from regard.decoding.strategies.greedy import Greedy
from regard.interop.family import standing_for
from regard.interop.huggingface import export_huggingface, import_folder
from regard.layers.inference.precision import in_precision
from regard.runs.artifact import Artifact, load_artifact

WORDS, ROWS, LENGTH, SAID, NEW = 4_000, 8, 64, 24, 48
BERT = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
MARIAN = {
    **{f"{side}_layers": 3 for side in ("encoder", "decoder")},
    **{f"{side}_attention_heads": 4 for side in ("encoder", "decoder")},
    **{f"{side}_ffn_dim": 1024 for side in ("encoder", "decoder")},
    "d_model": 256,
    "activation_function": "swish",
    "scale_embedding": True,
    "max_position_embeddings": 512,
}
T5 = {"d_model": 256, "d_kv": 64, "d_ff": 1024, "num_layers": 4, "num_heads": 4}
SEEN = {"image_size": 64, "num_channels": 3, "num_labels": 10}


@dataclass(frozen=True)
class Compared:
    """A family: its class there and the settings of a small model."""

    name: str
    kind: str
    config: str
    settings: dict[str, Any]
    says: str = "text"
    """text: it reads; next: it goes on with texts; pair: it reads a source and writes a target; picture: it sees"""


FAMILIES = [
    Compared("BERT", "BertForMaskedLM", "BertConfig", BERT),
    Compared("RoBERTa", "RobertaForMaskedLM", "RobertaConfig", {**BERT, "max_position_embeddings": 514}),
    Compared(
        "DistilBERT",
        "DistilBertForMaskedLM",
        "DistilBertConfig",
        {"dim": 256, "n_layers": 4, "n_heads": 4, "hidden_dim": 1024},
    ),
    Compared("GPT-2", "GPT2LMHeadModel", "GPT2Config", {"n_embd": 256, "n_layer": 4, "n_head": 4}, "next"),
    Compared("LLaMA", "LlamaForCausalLM", "LlamaConfig", {**BERT, "num_key_value_heads": 2}, "next"),
    Compared("Qwen2", "Qwen2ForCausalLM", "Qwen2Config", {**BERT, "num_key_value_heads": 2}, "next"),
    Compared("T5", "T5ForConditionalGeneration", "T5Config", T5, "pair"),
    Compared(
        "T5 1.1",
        "T5ForConditionalGeneration",
        "T5Config",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        "pair",
    ),
    Compared("Marian", "MarianMTModel", "MarianConfig", MARIAN, "pair"),
    Compared("BigBird", "BigBirdForMaskedLM", "BigBirdConfig", {**BERT, "attention_type": "original_full"}),
    Compared("XLNet", "XLNetLMHeadModel", "XLNetConfig", {"d_model": 256, "n_layer": 4, "n_head": 4, "d_inner": 1024}),
    Compared("ViT", "ViTForImageClassification", "ViTConfig", {**BERT, **SEEN, "patch_size": 8}, "picture"),
    Compared(
        "Swin",
        "SwinForImageClassification",
        "SwinConfig",
        {**SEEN, "patch_size": 4, "embed_dim": 128, "depths": [2, 2], "num_heads": [4, 8], "window_size": 4},
        "picture",
    ),
]


class Both:
    """A model there and here, and a batch for both."""

    def __init__(self, family: Compared, folder: Path) -> None:
        self.family, self.folder = family, folder
        self.theirs = _made(family, folder / "there")
        import_folder(folder / "there", folder / "here.safetensors")
        self.artifact: Artifact = load_artifact(folder / "here.safetensors")
        self.ours = in_precision(self.artifact.model(), "float32")  # as regard.load gives it
        self._give(torch.Generator().manual_seed(1))

    def _give(self, draw: torch.Generator) -> None:
        """Make the batch."""
        family = self.family
        self.new = standing_for(self.artifact.extras["huggingface"]["order"])
        self.tokens = torch.randint(10, WORDS, (ROWS, LENGTH), generator=draw)
        lengths = torch.tensor([LENGTH - 5 * (at % 4) for at in range(ROWS)])
        self.keep = torch.arange(LENGTH) < lengths[:, None]
        if family.says == "next":
            self.keep[:] = True
        self.said = torch.randint(10, WORDS, (ROWS, SAID), generator=draw)
        if family.says == "pair":
            self.said[:, 0] = self.theirs.config.decoder_start_token_id
        self.tokens[~self.keep] = self.theirs.config.pad_token_id
        self.ids, self.words = (self._here(rows) for rows in (self.tokens, self.said))
        self.ids *= self.keep

    def _here(self, rows: Tensor) -> Tensor:
        return rows.clone().apply_(lambda old: self.new[old])

    def there(self, model: Any | None = None, **more: Any) -> Any:
        """Their forward pass."""
        given = {"input_ids": self.tokens, "attention_mask": self.keep.long(), **more}
        if self.family.says == "pair":
            given["decoder_input_ids"] = self.said
        return (self.theirs if model is None else model)(**given)

    def here(self) -> Tensor:
        """Our forward pass."""
        if self.family.says == "text":
            logits: Tensor = self.ours.output(self.ours(self.ids, self.keep.sum(1)))
        elif self.family.says == "next":
            logits = self.ours(None, None, self.ids)
        else:
            logits = self.ours(self.ids, self.keep.sum(1), self.words)
        return logits

    def _seen(self, logits: Tensor) -> Tensor:
        """Where logits are compared: not at padding."""
        return self.keep if self.family.says == "text" else torch.ones(logits.shape[:2], dtype=torch.bool)

    def _back(self) -> Tensor:
        """The number of each of their tokens here."""
        return torch.tensor([self.new[old] for old in range(len(self.new))])

    def errors(self) -> tuple[float, float]:
        """The largest relative difference of logits of what was read, and of what was written back."""
        expected = self.there().logits
        seen, back = self._seen(expected), self._back()
        export_huggingface(self.folder / "here.safetensors", self.folder / "again")
        again = type(self.theirs).from_pretrained(self.folder / "again").eval()
        size = expected[seen].abs().max()
        found = (self.here()[..., back][seen], self.there(again).logits[seen])
        return tuple(float((one - expected[seen]).abs().max() / size) for one in found)  # type: ignore[return-value]

    def rounding(self) -> float:
        """How far their own logits are from those in float64, for comparison."""
        exact = type(self.theirs).from_pretrained(self.folder / "there", dtype=torch.float64).eval()
        expected = self.there(exact.double()).logits  # some weights are left in float32 when they are loaded
        seen = self._seen(expected)
        return float((self.there().logits - expected)[seen].abs().max() / expected[seen].abs().max())

    def write_there(self, rows: int = ROWS) -> list[list[int]]:
        """Their greedy texts of NEW tokens."""
        how = {"max_new_tokens": NEW, "min_new_tokens": NEW, "do_sample": False, "num_beams": 1}
        how["suppress_tokens"] = [old for old in map(self._old, (0, 1, 2)) if old is not None]
        if self.family.says == "next":
            start = torch.cat([torch.full((rows, 1), self._old(self.ours.first)), self.said[:rows, :8]], 1)
            made = self.theirs.generate(start, attention_mask=torch.ones_like(start), **how)
            return [row[9:] for row in made.tolist()]
        made = self.theirs.generate(self.tokens[:rows], attention_mask=self.keep[:rows].long(), **how)
        return [row[1:] for row in made.tolist()]

    def write_here(self, rows: int = ROWS) -> list[list[int]]:
        """Ours."""
        strategy = Greedy(max_length=NEW, min_length=NEW)
        if self.family.says == "next":
            found = search(self.ours, None, None, strategy, self.words[:rows, :8].tolist())
            return [list(one.tokens[8:]) for (one,) in found]
        found = search(self.ours, self.ids[:rows], self.keep[:rows].sum(1), strategy)
        return [list(one.tokens) for (one,) in found]

    def _old(self, token: int) -> int | None:
        old: int | None = self.artifact.extras["huggingface"]["order"][token]
        return old

    def same_tokens(self) -> float:
        """The share of greedy tokens that are the same, up to the forced end."""
        there, here = self.write_there(), self.write_here()
        pairs = [
            (one, self._old(other)) for a, b in zip(there, here, strict=True) for one, other in zip(a, b, strict=False)
        ]
        return sum(one == other for one, other in pairs) / len(pairs)


class BothSeeing(Both):
    """The same of a model of pictures."""

    def _give(self, draw: torch.Generator) -> None:
        sizes = self.artifact.sizes
        self.pictures = torch.randn(ROWS, sizes["channels"], sizes["height"], sizes["width"], generator=draw)

    def there(self, model: Any | None = None, **more: Any) -> Any:
        model = self.theirs if model is None else model
        return model(pixel_values=self.pictures.to(model.dtype), **more)

    def here(self) -> Tensor:
        logits: Tensor = self.ours(self.pictures)
        return logits

    def _seen(self, logits: Tensor) -> Tensor:
        return torch.ones(len(logits), dtype=torch.bool)

    def _back(self) -> Tensor:
        return torch.arange(self.artifact.sizes["classes"])


def both_of(family: Compared, folder: Path) -> Both:
    """The family's model there and here."""
    return (BothSeeing if family.says == "picture" else Both)(family, folder)


def _made(family: Compared, folder: Path) -> Any:
    """A model with random weights, as transformers keeps it; one of texts with a vocabulary of words."""
    if family.says == "picture":
        return _kept(family, getattr(transformers, family.config)(**family.settings), folder)
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>"}
    if family.says == "pair":
        names.pop("bos_token")
    pieces = [*names.values(), *(f"word{at}" for at in range(WORDS - len(names)))]
    tokenizer = Tokenizer(models.WordLevel({piece: at for at, piece in enumerate(pieces)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
    ids = {f"{role}_token_id": getattr(fast, f"{role}_token_id") for role in ("pad", "eos", "bos")}
    if family.says == "pair":
        ids["decoder_start_token_id"] = fast.pad_token_id
    config = getattr(transformers, family.config)(**family.settings, **ids, vocab_size=WORDS)
    for name, value in (("decoder_vocab_size", WORDS), ("forced_eos_token_id", None)):
        if hasattr(config, name):
            setattr(config, name, value)
    fast.save_pretrained(folder)
    return _kept(family, config, folder)


def _kept(family: Compared, config: Any, folder: Path) -> Any:
    torch.manual_seed(1)
    model = getattr(transformers, family.kind)(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.05 * torch.randn_like(weight)
    model.save_pretrained(folder)
    return model


def compare(family: Compared, rounds: int) -> dict[str, str]:
    """A row of the table."""
    with tempfile.TemporaryDirectory() as place, torch.inference_mode():
        both = both_of(family, Path(place))
        read, written = both.errors()
        forward = _timed({"theirs": both.there, "ours": both.here}, 8 * rounds)  # short, so more of them
        return {
            "family": family.name,
            "logits, read": f"{read:.1e}",
            "logits, written": f"{written:.1e}",
            "their own rounding": f"{both.rounding():.1e}",
            "forward": spread(forward.ratio("theirs", "ours"), 2),
            **_writing(both, rounds),
            **_recording(both, 6 * rounds),
        }


def _writing(both: Both, rounds: int) -> dict[str, str]:
    if both.family.says in ("text", "picture"):
        return {"same tokens": "", "writing one text": "", f"writing {ROWS}": ""}
    found = {"same tokens": f"{100 * both.same_tokens():.1f} %"}
    for name, rows in (("writing one text", 1), (f"writing {ROWS}", ROWS)):
        timing = _timed(
            {"theirs": partial(both.write_there, rows), "ours": partial(both.write_here, rows)}, rounds, warm_up=1
        )
        found[name] = spread(timing.ratio("theirs", "ours"), 2)
    return found


def _recording(both: Both, rounds: int) -> dict[str, str]:
    """What one head's weights of the last layer add, in percent."""
    layer = list(attention_layers(both.ours))[-1]
    kind = type(both.theirs)
    eager = kind.from_pretrained(both.folder / "there", attn_implementation="eager").eval()

    def recorded() -> None:
        with record(both.ours, layer, heads=[0]):
            both.here()

    timing = _timed(
        {
            "plain": both.here,
            "recorded": recorded,
            "theirs": both.there,
            "eager": lambda: both.there(eager, output_attentions=True),
        },
        rounds,
    )
    ours, theirs = timing.ratio("recorded", "plain"), timing.ratio("eager", "theirs")
    return {
        "one head, ours": f"{100 * (ours[0] - 1):+.1f} %",
        "one head, theirs": f"{100 * (theirs[0] - 1):+.1f} %",
    }


def _timed(contestants: dict[str, Callable[[], object]], rounds: int, warm_up: int = 2) -> Timing:
    return take_turns(contestants, rounds, warm_up, clock=time.process_time)


def main() -> None:
    """Print and keep the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="also write the table to this file")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", nargs="*", help="only these families")
    given = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{machine()}, transformers {transformers.__version__}")
    rows = [compare(family, given.rounds) for family in FAMILIES if not given.only or family.name in given.only]
    title = f"{ROWS} rows of {LENGTH} tokens, {NEW} tokens written; processor time, medians with quartiles"
    print_table(title, rows)
    write_json(given.json, {title: rows})
    ratios = [float(row["forward"].split()[0]) for row in rows]
    print(f"\nforward: {quartiles(ratios)[0]:.2f} in the middle of all families")


if __name__ == "__main__":
    main()
