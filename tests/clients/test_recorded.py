"""What every client can do: see the finding once, in its own units and formats, repair it, suppress it."""

import asyncio

import pytest
from lsprotocol import types as lsp

FINDING = ("missing-zero-grad", "opt.step()")
REPAIR = "Insert `opt.zero_grad()` before the backward pass"
IGNORE = "Ignore `missing-zero-grad` here"


@pytest.mark.asyncio
async def test_announces_what_it_can_do(session):
    can = session.result.capabilities
    announced = (session.capabilities.general and session.capabilities.general.position_encodings) or ["utf-16"]
    assert can.position_encoding in announced
    assert can.text_document_sync.change == lsp.TextDocumentSyncKind.Incremental
    assert can.hover_provider and can.code_action_provider
    assert session.result.server_info.name == "trainlint"
    assert session.result.server_info.version


@pytest.mark.asyncio
async def test_shows_the_finding_once(session, uri, script):
    document = session.open(uri, script)
    [shown] = await session.diagnostics(document)
    assert session.marked(document, [shown]) == [FINDING]
    assert shown.severity == lsp.DiagnosticSeverity.Error
    assert shown.source == "trainlint"
    await asyncio.sleep(0.2)
    assert bool(session.client.pushed) != session.pulls, "either asked for or pushed, never both"


@pytest.mark.asyncio
async def test_names_the_place_that_the_finding_is_about(session, uri, script):
    document = session.open(uri, script)
    [shown] = await session.diagnostics(document)
    if session.capabilities.text_document.publish_diagnostics.related_information:
        [related] = shown.related_information
        assert related.location.uri == uri
        assert document.text[session.offset(document.text, related.location.range.start) :].startswith("loss.backward()")
        assert "adds to gradients" not in shown.message
    else:
        assert not shown.related_information
        assert "adds to gradients" in shown.message


@pytest.mark.asyncio
async def test_follows_edits_in_the_units_of_the_client(session, uri, script):
    document = session.open(uri, script)
    top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    session.edit(document, lsp.TextEdit(top, '"""Überblick 😀 𝒳"""\r\n'), lsp.TextEdit(top, "# é\n"))
    assert session.marked(document, await session.diagnostics(document)) == [FINDING]
    session.replace(document, "😀 𝒳", "日本")
    session.replace(document, 'print("naïve 😀"', 'print("𝒳é", (')
    await session.diagnostics(document)
    session.replace(document, 'print("𝒳é", (', 'print("𝒳😀é"')
    assert session.marked(document, await session.diagnostics(document)) == [FINDING]
    session.replace(document, "        loss.backward()\n", "        opt.zero_grad()\n        loss.backward()\n")
    assert await session.diagnostics(document) == []


@pytest.mark.asyncio
async def test_repairs_it(session, uri, script):
    document = session.open(uri, script)
    [shown] = await session.diagnostics(document)
    actions = await session.actions(document, shown.range, shown)
    [repair] = [one for one in actions if one.title == REPAIR]
    assert repair.kind == lsp.CodeActionKind.QuickFix
    if session.capabilities.text_document.code_action.is_preferred_support:
        assert repair.is_preferred
    await session.take(repair)
    assert document.text == script.replace("        loss.backward()\n", "        opt.zero_grad()\n        loss.backward()\n")
    assert await session.diagnostics(document) == []


@pytest.mark.asyncio
async def test_offers_the_repair_wherever_the_cursor_is_on_the_line(session, uri, script):
    document = session.open(uri, script)
    [shown] = await session.diagnostics(document)
    start = lsp.Position(shown.range.start.line, 0)
    assert REPAIR in [one.title for one in await session.actions(document, lsp.Range(start, start), shown)]
    above = lsp.Position(shown.range.start.line - 2, 0)
    assert REPAIR not in [one.title for one in await session.actions(document, lsp.Range(above, above))]


@pytest.mark.asyncio
async def test_suppresses_it_and_shows_the_page_on_the_comment(session, uri, script):
    document = session.open(uri, script)
    [shown] = await session.diagnostics(document)
    [suppress] = [one for one in await session.actions(document, shown.range, shown) if one.title == IGNORE]
    await session.take(suppress)
    assert 'opt.step())  # trainlint: ignore[missing-zero-grad]\n' in document.text
    assert await session.diagnostics(document) == []
    hover = await session.hover(document, "missing-zero-grad]")
    assert "What it does" in hover.contents.value


@pytest.mark.asyncio
async def test_explains_on_hover_in_a_format_that_the_client_reads(session, uri, script):
    document = session.open(uri, script)
    await session.diagnostics(document)
    hover = await session.hover(document, "opt.step()", within=2)
    assert hover.contents.kind == session.capabilities.text_document.hover.content_format[0]
    assert "missing-zero-grad" in hover.contents.value
    start, end = (session.offset(document.text, at) for at in (hover.range.start, hover.range.end))
    assert "opt.step()" in document.text[start:end]
    assert await session.hover(document, "import torch") is None


@pytest.mark.asyncio
async def test_takes_its_findings_back_when_a_document_closes(session, uri, script):
    document = session.open(uri, script)
    assert await session.diagnostics(document)
    session.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri)))
    if not session.pulls:
        async with session.client.news:
            await asyncio.wait_for(session.client.news.wait_for(lambda: not session.client.pushed[-1].diagnostics), 10)
