"""What a client of today adds: results that stay, edits asked for late, notebooks, settings, several roots, files
that change on the disk, documents without a file; and what goes wrong."""

import asyncio
import json

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcMethodNotFound

FINDING = ("missing-zero-grad", "opt.step()")
IGNORED = {"ignore": ["missing-zero-grad"]}


def pull(session, uri, previous=None):
    return session.client.text_document_diagnostic_async(
        lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri), previous_result_id=previous)
    )


async def eventually(holds):
    for _ in range(200):
        if await holds():
            return
        await asyncio.sleep(0.05)
    raise AssertionError("waited in vain")


def cell_uri(notebook: str, number: int) -> str:
    return notebook.replace("file:", "vscode-notebook-cell:") + f"#W{number}"


def open_notebook(session, uri, *sources):
    kind = lsp.NotebookCellKind.Code
    for number, source in enumerate(sources):
        session.documents[cell_uri(uri, number)] = type("Cell", (), {"uri": cell_uri(uri, number), "text": source, "version": 1})
    session.client.notebook_document_did_open(
        lsp.DidOpenNotebookDocumentParams(
            lsp.NotebookDocument(
                uri, "jupyter-notebook", 1, [lsp.NotebookCell(kind, cell_uri(uri, n)) for n in range(len(sources))]
            ),
            [lsp.TextDocumentItem(cell_uri(uri, n), "python", 1, source) for n, source in enumerate(sources)],
        )
    )
    return [session.documents[cell_uri(uri, number)] for number in range(len(sources))]


@pytest.mark.asyncio
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_takes_the_units_that_the_client_has(today, tmp_path, uri, script, encoding):
    today.capabilities.general.position_encodings = [encoding]
    await today.start(tmp_path)
    assert today.encoding == encoding
    document = today.open(uri, script)
    assert today.marked(document, await today.diagnostics(document)) == [FINDING]


@pytest.mark.asyncio
async def test_says_when_nothing_has_changed(today, tmp_path, uri, script):
    await today.start(tmp_path)
    document = today.open(uri, script)
    first = await pull(today, uri)
    assert first.result_id and first.items
    again = await pull(today, uri, first.result_id)
    assert isinstance(again, lsp.RelatedUnchangedDocumentDiagnosticReport)
    today.replace(document, "opt.step()", "opt.zero_grad(), opt.step()")
    changed = await pull(today, uri, first.result_id)
    assert isinstance(changed, lsp.RelatedFullDocumentDiagnosticReport)


@pytest.mark.asyncio
async def test_fixes_everything_at_once(today, tmp_path, uri, script):
    await today.start(tmp_path)
    document = today.open(uri, script)
    [shown] = await today.diagnostics(document)
    whole = today.range(document.text, 0, len(document.text))
    for kind in ("source.fixAll.trainlint", "source.fixAll", "source"):
        [fix_all] = await today.actions(document, whole, only=[kind])
        assert fix_all.kind == "source.fixAll.trainlint"
    assert await today.actions(document, whole, only=["source.organizeImports"]) == []
    await today.take(fix_all)
    assert await today.diagnostics(document) == []
    with pytest.raises(JsonRpcException):
        await today.take(fix_all)


@pytest.mark.asyncio
async def test_checks_the_cells_of_a_notebook_as_one(today, tmp_path, script):
    await today.start(tmp_path)
    notebook = (tmp_path / "train.ipynb").as_uri()
    head, body = script.split("def main():\n")
    body = "%%time\n" + body.split("\n\n\nif __name__")[0].replace("\n    ", "\n")[4:]
    first, second = open_notebook(today, notebook, head, body)
    assert await today.diagnostics(first) == []
    [shown] = await today.diagnostics(second)
    assert today.marked(second, [shown]) == [FINDING]
    [related] = shown.related_information
    assert related.location.uri == second.uri
    assert not today.client.pushed

    [repair] = [one for one in await today.actions(second, shown.range, shown) if one.is_preferred]
    [(edited, edits)] = edits_of(repair.edit).items()
    assert edited == second.uri
    second.text = today.applied(second.text, edits)
    today.client.notebook_document_did_change(
        lsp.DidChangeNotebookDocumentParams(
            lsp.VersionedNotebookDocumentIdentifier(2, notebook),
            lsp.NotebookDocumentChangeEvent(
                cells=lsp.NotebookDocumentCellChanges(
                    text_content=[
                        lsp.NotebookDocumentCellContentChanges(
                            lsp.VersionedTextDocumentIdentifier(2, second.uri),
                            [lsp.TextDocumentContentChangePartial(edit.range, edit.new_text) for edit in edits],
                        )
                    ]
                )
            ),
        )
    )
    assert "    opt.zero_grad()\n    loss.backward()" in second.text
    assert await today.diagnostics(second) == []


def edits_of(edit: lsp.WorkspaceEdit):
    changes = dict(edit.changes or {})
    for change in edit.document_changes or []:
        changes[change.text_document.uri] = list(change.edits)
    return changes


@pytest.mark.asyncio
async def test_takes_settings_from_the_start(today, tmp_path, uri, script):
    today.capabilities.workspace.configuration = False
    await today.start(tmp_path, options={"settings": IGNORED})
    assert await today.diagnostics(today.open(uri, script)) == []


@pytest.mark.asyncio
async def test_asks_for_settings_of_each_folder(today, tmp_path, script):
    quiet, loud = tmp_path / "quiet", tmp_path / "loud"
    for folder in (quiet, loud):
        folder.mkdir()
        (folder / "train.py").write_text(script, encoding="utf-8")
    today.client.set_configuration(IGNORED, section="trainlint", scope_uri=quiet.as_uri())
    await today.start(quiet, loud)
    of_quiet = today.open((quiet / "train.py").as_uri(), script)
    of_loud = today.open((loud / "train.py").as_uri(), script)

    async def settled():
        return await today.diagnostics(of_quiet) == []

    await eventually(settled)
    assert today.marked(of_loud, await today.diagnostics(of_loud)) == [FINDING]

    today.client.set_configuration({}, section="trainlint", scope_uri=quiet.as_uri())
    before = today.client.diagnostic_refresh_count
    today.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))

    async def shown_again():
        return bool(await today.diagnostics(of_quiet))

    await eventually(shown_again)
    assert today.client.diagnostic_refresh_count > before


@pytest.mark.asyncio
async def test_forgives_settings_that_make_no_sense(today, tmp_path, uri, script):
    today.client.set_configuration({"select": 7, "gpu": "abacus", "colour": "blue"}, section="trainlint")
    await today.start(tmp_path, options="none")
    document = today.open(uri, script)

    async def complained():
        return any("trainlint.select" in one.message for one in today.client.log_messages)

    await eventually(complained)
    assert today.marked(document, await today.diagnostics(document)) == [FINDING]


@pytest.mark.asyncio
async def test_heeds_files_that_change_on_the_disk(today, tmp_path, uri, script):
    await today.start(tmp_path)
    document = today.open(uri, script)
    assert len(await today.diagnostics(document)) == 1
    watched = [one for one in today.client.registered if one.method == lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES]
    assert any("trainlint.toml" in watcher["globPattern"] for one in watched for watcher in one.register_options["watchers"])

    settings = tmp_path / "trainlint.toml"
    settings.write_text('ignore = ["missing-zero-grad"]\n')
    today.client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent(settings.as_uri(), lsp.FileChangeType.Created)])
    )
    assert await today.diagnostics(document) == []
    settings.unlink()
    today.client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent(settings.as_uri(), lsp.FileChangeType.Deleted)])
    )
    assert len(await today.diagnostics(document)) == 1


@pytest.mark.asyncio
async def test_sees_what_another_open_document_says(today, tmp_path):
    await today.start(tmp_path)
    helper = "def apply(opt, loss):\n    {}loss.backward()\n    opt.step()\n"
    script = (
        "import torch\nfrom torch import nn\nfrom helper import apply\n\nmodel = nn.Linear(4, 2)\n"
        "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "for x in torch.randn(8, 3, 4):\n    apply(opt, model(x).sum())\n"
    )
    (tmp_path / "helper.py").write_text(helper.format(""))
    (tmp_path / "train.py").write_text(script)
    document = today.open((tmp_path / "train.py").as_uri(), script)
    other = today.open((tmp_path / "helper.py").as_uri(), helper.format(""))
    before = await pull(today, document.uri)
    today.replace(other, "    loss.backward()", "    opt.zero_grad()\n    loss.backward()")
    after = await pull(today, document.uri)
    shown = lambda report: [(one.code, one.range.start.line) for one in report.items]
    assert "missing-zero-grad" not in [code for code, _ in shown(after)]
    assert await today.diagnostics(other) == []
    today.replace(other, "    opt.zero_grad()\n", "")
    assert shown(await pull(today, document.uri)) == shown(before)


@pytest.mark.asyncio
@pytest.mark.parametrize("uri", ["untitled:Untitled-1", "buffer:7"])
async def test_checks_a_document_without_a_file(today, tmp_path, script, uri):
    await today.start(tmp_path)
    document = today.open(uri, script)
    assert today.marked(document, await today.diagnostics(document)) == [FINDING]
    [shown] = await today.diagnostics(document)
    [repair] = [one for one in await today.actions(document, shown.range, shown) if one.is_preferred]
    await today.take(repair)
    assert await today.diagnostics(document) == []


@pytest.mark.asyncio
async def test_links_to_a_page_about_the_rule(today, tmp_path, uri, script):
    await today.start(tmp_path)
    [shown] = await today.diagnostics(today.open(uri, script))
    # A build that knows no repository has no page to link to.
    link = shown.code_description
    assert link is None or link.href.endswith(f"/rules/{shown.code}.md"), link


@pytest.mark.asyncio
async def test_refuses_what_it_does_not_know_and_goes_on(today, tmp_path, uri, script):
    await today.start(tmp_path)
    with pytest.raises(JsonRpcMethodNotFound):
        await today.client.protocol.send_request_async("trainlint/unheardOf", {})
    report = await pull(today, (tmp_path / "never-opened.py").as_uri())
    assert not report.items
    senseless = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": 1}})
    today.client._server.stdin.write(f"Content-Length: {len(senseless)}\r\n\r\n{senseless}".encode())
    document = today.open(uri, script)
    assert today.marked(document, await today.diagnostics(document)) == [FINDING]


@pytest.mark.asyncio
async def test_answers_the_newest_text_while_someone_types(today, tmp_path, uri, script):
    await today.start(tmp_path)
    document = today.open(uri, script)
    asked = []
    for number in range(40):
        today.replace(document, "import torch\n" if number == 0 else f"# {number - 1}\n", f"import torch\n# {number}\n" if number == 0 else f"# {number}\n")
        asked.append(asyncio.ensure_future(pull(today, uri)))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert not isinstance(answers[-1], Exception), answers[-1]
    refused = [one for one in answers if isinstance(one, JsonRpcException)]
    assert all(one.code in (-32801, -32802) for one in refused), json.dumps([str(one) for one in refused])
    assert today.marked(document, answers[-1].items) == [FINDING]


@pytest.mark.asyncio
async def test_ends_with_1_when_it_was_not_asked_to_shut_down(today, tmp_path):
    await today.start(tmp_path)
    today.client.exit(None)
    await asyncio.wait_for(today.client._server.wait(), 10)
    assert today.client._server.returncode == 1
    today.ended = True
