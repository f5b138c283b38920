"""Models of the Hugging Face hub by their names, such as `distilbert/distilbert-base-uncased`.

What `regard import` reads of a folder is downloaded into the hub's own cache (`HF_HOME`), and nothing else: no pickles,
and no code. A model that was downloaded before is found there without a network.
"""

import re
from pathlib import Path

from regard.base.errors import RegardError

FILES = ("*.json", "model*.safetensors", "*.spm", "*.jinja")
"""what is read of a model folder"""
_OTHERS = ("onnx/*", "openvino/*", "coreml/*", "original/*")
_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")


def local_folder(folder: str | Path, revision: str | None = None) -> Path:
    """The folder itself if it is there, or else the downloaded model of that name.

    A revision is a branch, a tag or a commit of the hub's repository.
    """
    name = str(folder)
    if Path(folder).exists() and revision is None:
        return Path(folder)
    if not _NAME.fullmatch(name):
        raise RegardError(f"{name}: there is no such folder, and it is not the name of a model of the Hugging Face hub")
    found = _downloaded(name, revision)
    if not any(found.glob("*.safetensors")):
        raise RegardError(
            f"{name}: the Hugging Face hub has no model.safetensors of it, and other files can run code; convert it in "
            f"transformers with AutoModel.from_pretrained('{name}').save_pretrained(folder)"
        )
    return found


def _downloaded(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        patterns, others = list(FILES), list(_OTHERS)
        return Path(snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=others))
    except GatedRepoError as error:
        raise RegardError(f"{name}: its owners grant access one by one: ask on its page, and hf auth login") from error
    except RepositoryNotFoundError as error:
        raise RegardError(
            f"{name}: there is no such folder, and the Hugging Face hub has no model of that name, or it is private "
            "(hf auth login)"
        ) from error
    except RevisionNotFoundError as error:
        raise RegardError(f"{name}: the Hugging Face hub has no revision '{revision}' of it") from error
    except LocalEntryNotFoundError as error:
        raise RegardError(
            f"{name}: there is no such folder, and the Hugging Face hub cannot be reached to look for a model of that "
            "name; give the path of a folder, or try again with a network (and without HF_HUB_OFFLINE)"
        ) from error
    except (HfHubHTTPError, OSError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RegardError(f"{name}: could not be downloaded from the Hugging Face hub: {first}") from error
