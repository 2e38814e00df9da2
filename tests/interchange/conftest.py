"""Files of models, written as a test wants them."""

import pytest


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "model.txt"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
