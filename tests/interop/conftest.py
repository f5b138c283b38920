"""A trained Transformer and its export, made once."""

from pathlib import Path

import pytest

from regard.runs.artifact import load_artifact, save_artifact
from tests.interop.examples import shortlist, write_trained


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model file; not to be written to."""
    return write_trained(tmp_path_factory.mktemp("trained") / "toy.safetensors")


@pytest.fixture(scope="session")
def exported(trained: Path) -> Path:
    """Its export for CTranslate2; not to be written to."""
    pytest.importorskip("ctranslate2")
    from regard.interop.ctranslate2_export import export_ctranslate2

    return export_ctranslate2(trained, trained.parent / "export")


@pytest.fixture(scope="session")
def listed(trained: Path) -> Path:
    """The export of the same model with a shortlist; not to be written to."""
    pytest.importorskip("ctranslate2")
    from regard.interop.ctranslate2_export import export_ctranslate2

    model = trained.parent / "listed.safetensors"
    save_artifact(model, load_artifact(trained).with_extras(shortlist=shortlist().to_extras()))
    return export_ctranslate2(model, trained.parent / "export-listed")
