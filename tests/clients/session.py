"""A language client as thin as an editor's core: it keeps documents, applies edits, and asks or waits for
diagnostics, whichever its capabilities say. It knows nothing of trainlint's rules."""

import asyncio

from lsprotocol import types as lsp
from pytest_lsp import LanguageClient
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES

CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Client(LanguageClient):
    """Remembers what was pushed, with the versions."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.pushed: list[lsp.PublishDiagnosticsParams] = []
        self.registered: list[lsp.Registration] = []
        self.news = asyncio.Condition()


def make_client() -> Client:
    client = Client()
    for method, answer in DEFAULT_CLIENT_FEATURES.items():
        if method != lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS:
            client.feature(method)(answer)

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    async def pushed(params: lsp.PublishDiagnosticsParams):
        async with client.news:
            client.pushed.append(params)
            client.news.notify_all()

    @client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
    def registered(params: lsp.RegistrationParams):
        client.registered.extend(params.registrations)

    return client


class Document:
    def __init__(self, uri: str, text: str):
        self.uri, self.text, self.version = uri, text, 1


class Session:
    def __init__(self, client: Client, capabilities: lsp.ClientCapabilities):
        self.client, self.capabilities = client, capabilities
        self.documents: dict[str, Document] = {}
        self.result: lsp.InitializeResult | None = None
        self.ended = False

    @property
    def pulls(self) -> bool:
        return self.capabilities.text_document.diagnostic is not None

    @property
    def encoding(self) -> str:
        return self.result.capabilities.position_encoding or "utf-16"

    async def start(self, *folders, options=None) -> "Session":
        self.result = await self.client.initialize_session(
            lsp.InitializeParams(
                capabilities=self.capabilities,
                initialization_options=options,
                workspace_folders=[lsp.WorkspaceFolder(uri=folder.as_uri(), name=folder.name) for folder in folders],
            )
        )
        return self

    def open(self, uri: str, text: str) -> Document:
        document = self.documents[uri] = Document(uri, text)
        self.client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "python", document.version, text))
        )
        return document

    def edit(self, document: Document, *changes: lsp.TextEdit) -> None:
        """Sends the changes one after the other as one notification, as an editor does while typing."""
        document.version += 1
        events = []
        for change in changes:
            document.text = self.applied(document.text, [change])
            events.append(lsp.TextDocumentContentChangePartial(change.range, change.new_text))
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(document.version, document.uri), events
            )
        )

    def replace(self, document: Document, old: str, new: str) -> None:
        """Replaces the only place of `old`."""
        assert document.text.count(old) == 1, old
        start = document.text.index(old)
        self.edit(document, lsp.TextEdit(self.range(document.text, start, start + len(old)), new))

    async def diagnostics(self, document: Document) -> list[lsp.Diagnostic]:
        """What the editor shows of the document as it is now."""
        if self.pulls:
            report = await self.client.text_document_diagnostic_async(
                lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(document.uri))
            )
            assert isinstance(report, lsp.RelatedFullDocumentDiagnosticReport), report
            return list(report.items)

        def latest():
            current = [one for one in self.client.pushed if one.uri == document.uri]
            return current[-1] if current and current[-1].version == document.version else None

        async with self.client.news:
            await asyncio.wait_for(self.client.news.wait_for(latest), 10)
        return list(latest().diagnostics)

    async def actions(self, document: Document, at: lsp.Range, *shown, only=None) -> list[lsp.CodeAction]:
        found = await self.client.text_document_code_action_async(
            lsp.CodeActionParams(
                lsp.TextDocumentIdentifier(document.uri), at, lsp.CodeActionContext(list(shown), only=only)
            )
        )
        return list(found or [])

    async def take(self, action: lsp.CodeAction) -> None:
        """Applies an action, asking for its edit first where the server left it out."""
        if action.edit is None:
            support = self.capabilities.text_document.code_action.resolve_support
            assert support and "edit" in support.properties, "an edit is missing that this client cannot ask for"
            action = await self.client.code_action_resolve_async(action)
        assert action.edit is not None
        edit = action.edit
        if edit.document_changes is not None:
            assert self.capabilities.workspace.workspace_edit.document_changes, "documentChanges were not announced"
            for change in edit.document_changes:
                document = self.documents[change.text_document.uri]
                assert change.text_document.version in (None, document.version)
                self.apply(document, change.edits)
        for uri, edits in (edit.changes or {}).items():
            self.apply(self.documents[uri], edits)

    def apply(self, document: Document, edits) -> None:
        """Edits of a workspace edit all count in the text before them; sent last first, none moves another."""
        self.edit(document, *sorted(edits, key=lambda edit: self.key(edit.range.start), reverse=True))

    async def hover(self, document: Document, part: str, within: int = 0) -> lsp.Hover | None:
        start = document.text.index(part) + within
        return await self.client.text_document_hover_async(
            lsp.HoverParams(lsp.TextDocumentIdentifier(document.uri), self.range(document.text, start, start).start)
        )

    def marked(self, document: Document, diagnostics) -> list[tuple[str, str]]:
        """The code of each diagnostic, and the text that it stands on in the units of this session."""
        return sorted(
            (one.code, document.text[self.offset(document.text, one.range.start) : self.offset(document.text, one.range.end)])
            for one in diagnostics
        )

    def applied(self, text: str, edits) -> str:
        for edit in edits:
            start, end = self.offset(text, edit.range.start), self.offset(text, edit.range.end)
            text = text[:start] + edit.new_text + text[end:]
        return text

    def offset(self, text: str, position: lsp.Position) -> int:
        lines = text.split("\n")
        codec, width = CODECS[self.encoding]
        assert position.line < len(lines), f"line {position.line} of {len(lines)}"
        encoded = lines[position.line].encode(codec)
        assert position.character * width <= len(encoded), f"{position} is past the end of its line"
        before = encoded[: position.character * width].decode(codec)
        return sum(len(line) + 1 for line in lines[: position.line]) + len(before)

    def range(self, text: str, start: int, end: int) -> lsp.Range:
        return lsp.Range(self.position(text, start), self.position(text, end))

    def position(self, text: str, offset: int) -> lsp.Position:
        codec, width = CODECS[self.encoding]
        before = text[:offset].split("\n")
        return lsp.Position(len(before) - 1, len(before[-1].encode(codec)) // width)

    @staticmethod
    def key(position: lsp.Position) -> tuple[int, int]:
        return position.line, position.character
