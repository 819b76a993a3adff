"""Starts the server that TRAINLINT names, once for each test, as the clients whose capabilities pytest-lsp has
recorded, and as one of today that can do everything."""

import contextlib
import os
import sys
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types as lsp
from pytest_lsp import ClientServerConfig, client_capabilities

sys.path.insert(0, str(Path(__file__).parent))
from session import Session, make_client

RECORDED = ["visual_studio_code@1.65.2", "neovim@0.6.1", "neovim@0.7.0", "neovim@0.8.0", "neovim@0.9.1",
            "neovim@0.10.0", "neovim@0.11.0", "emacs@29.1"]
SERVER = ClientServerConfig(server_command=[os.environ["TRAINLINT"], "server"], client_factory=make_client)
SCRIPT = (Path(__file__).parents[2] / "editors/workspace/train.py").read_text(encoding="utf-8")


def of_today(*encodings: str) -> lsp.ClientCapabilities:
    """Visual Studio Code as it was recorded, with what came into the protocol since."""
    capabilities = client_capabilities("visual_studio_code")
    capabilities.text_document.diagnostic = lsp.DiagnosticClientCapabilities(related_document_support=True)
    capabilities.workspace.diagnostics = lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    capabilities.notebook_document = lsp.NotebookDocumentClientCapabilities(
        lsp.NotebookDocumentSyncClientCapabilities(dynamic_registration=True, execution_summary_support=True)
    )
    if encodings:
        capabilities.general.position_encodings = list(encodings)
    return capabilities


@contextlib.asynccontextmanager
async def serving(capabilities: lsp.ClientCapabilities):
    """A session with a server of its own, which ends as the protocol has it, with status 0."""
    client = await SERVER.start()
    session = Session(client, capabilities)
    try:
        yield session
        if not session.ended:
            await client.shutdown_session()
            assert client._server.returncode == 0
    finally:
        await client.stop()


@pytest_asyncio.fixture(params=RECORDED)
async def session(request, tmp_path):
    """A session with each recorded client, in a folder of its own."""
    async with serving(client_capabilities(request.param)) as started:
        yield await started.start(tmp_path)


@pytest_asyncio.fixture
async def today():
    """A client of today that has not been initialized yet."""
    async with serving(of_today()) as not_started:
        yield not_started


@pytest.fixture
def script() -> str:
    return SCRIPT


@pytest.fixture
def uri(tmp_path) -> str:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path.as_uri()
