//! What the server says that it can do.

use super::actions::FIX_ALL;
use super::client::Abilities;
use super::confirm::CONFIRM;
use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeLensOptions, CompletionOptions, DiagnosticOptions,
    ExecuteCommandOptions, NotebookCellLanguage, NotebookDocumentFilter, NotebookDocumentFilterNotebookType,
    NotebookDocumentFilterWithNotebook, NotebookDocumentSyncOptions, SaveOptions, ServerCapabilities,
    TextDocumentSyncKind, TextDocumentSyncOptions, WorkDoneProgressOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};
use serde_json::{Value, json};

pub(crate) fn result(can: &Abilities) -> Value {
    let capabilities = ServerCapabilities {
        position_encoding: Some(can.encoding.kind()),
        text_document_sync: Some(
            TextDocumentSyncOptions {
                open_close: Some(true),
                change: Some(TextDocumentSyncKind::Incremental),
                save: Some(SaveOptions { include_text: Some(false) }.into()),
                ..TextDocumentSyncOptions::default()
            }
            .into(),
        ),
        notebook_document_sync: Some(notebooks().into()),
        // Without pulling, the client gets what it never asked for.
        diagnostic_provider: can.pulls.then(|| {
            DiagnosticOptions {
                identifier: Some("trainlint".to_owned()),
                inter_file_dependencies: true,
                workspace_diagnostics: false,
                work_done_progress_options: WorkDoneProgressOptions::default(),
            }
            .into()
        }),
        code_action_provider: Some(
            CodeActionOptions {
                code_action_kinds: Some(vec![
                    CodeActionKind::QuickFix,
                    CodeActionKind::from(FIX_ALL.to_owned()),
                ]),
                resolve_provider: Some(true),
                ..CodeActionOptions::default()
            }
            .into(),
        ),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some(vec!["[".to_owned(), ",".to_owned()]),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(true.into()),
        code_lens_provider: Some(CodeLensOptions {
            resolve_provider: Some(false),
            ..CodeLensOptions::default()
        }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec![CONFIRM.to_owned()],
            ..ExecuteCommandOptions::default()
        }),
        workspace: Some(WorkspaceOptions {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(true.into()),
            }),
            ..WorkspaceOptions::default()
        }),
        ..ServerCapabilities::default()
    };
    json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "trainlint", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// Some clients refuse a selector that names cells only.
fn notebooks() -> NotebookDocumentSyncOptions {
    let jupyter = NotebookDocumentFilterNotebookType {
        notebook_type: "jupyter-notebook".to_owned(),
        scheme: None,
        pattern: None,
    };
    let filter = NotebookDocumentFilterWithNotebook {
        notebook: NotebookDocumentFilter::from(jupyter).into(),
        cells: Some(vec![NotebookCellLanguage { language: "python".to_owned() }]),
    };
    NotebookDocumentSyncOptions { notebook_selector: vec![filter.into()], save: Some(true) }
}
