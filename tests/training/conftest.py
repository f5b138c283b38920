import os
from collections.abc import Iterator

import pytest
import torch

os.environ["OMP_NUM_THREADS"] = "1"  # for processes that tests start


@pytest.fixture(autouse=True, scope="package")
def one_thread() -> Iterator[None]:
    """The models of these tests are so small that threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
