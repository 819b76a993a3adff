//! The part of SARIF 2.1.0 that is written, under SARIF's own names.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Log<'a> {
    #[serde(rename = "$schema")]
    pub schema: &'static str,
    pub version: &'static str,
    pub runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Run<'a> {
    pub tool: Tool<'a>,
    pub automation_details: Id,
    pub column_kind: &'static str,
    pub original_uri_base_ids: Bases,
    pub invocations: [Invocation; 1],
    pub results: Vec<ResultEntry<'a>>,
}

#[derive(Serialize)]
pub(crate) struct Tool<'a> {
    pub driver: Driver<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Driver<'a> {
    pub name: &'static str,
    pub version: &'static str,
    pub semantic_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub information_uri: Option<&'static str>,
    pub rules: Vec<Descriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor<'a> {
    pub id: &'a str,
    pub name: String,
    pub short_description: Text,
    pub full_description: Text,
    pub help: Help<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_uri: Option<String>,
    pub default_configuration: Configuration,
    pub properties: RuleProperties,
}

#[derive(Serialize)]
pub(crate) struct Text {
    pub text: String,
}

#[derive(Serialize)]
pub(crate) struct Help<'a> {
    pub text: &'a str,
    pub markdown: &'a str,
}

#[derive(Serialize)]
pub(crate) struct Configuration {
    pub level: &'static str,
}

#[derive(Serialize)]
pub(crate) struct RuleProperties {
    pub tags: [&'static str; 2],
    pub precision: &'static str,
    #[serde(rename = "problem.severity")]
    pub severity: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Id {
    pub id: &'static str,
}

#[derive(Serialize)]
pub(crate) struct Bases {
    #[serde(rename = "%SRCROOT%")]
    pub srcroot: Described,
}

#[derive(Serialize)]
pub(crate) struct Described {
    pub description: Text,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Invocation {
    pub execution_successful: bool,
    pub tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
pub(crate) struct Notification {
    pub level: &'static str,
    pub message: Text,
    pub locations: [Location; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ResultEntry<'a> {
    pub rule_id: &'a str,
    pub rule_index: usize,
    pub level: &'static str,
    pub message: Text,
    pub locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub code_flows: Vec<CodeFlow>,
    pub partial_fingerprints: PartialFingerprints,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fixes: Vec<FixEntry<'a>>,
    pub properties: ResultProperties,
}

#[derive(Serialize)]
pub(crate) struct ResultProperties {
    pub confidence: &'static str,
    /// What came out when it was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<serde_json::Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    pub physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Text>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PhysicalLocation {
    pub artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactLocation {
    pub uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri_base_id: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Region {
    pub start_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_column: Option<u32>,
    pub end_line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_column: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LogicalLocation {
    pub fully_qualified_name: String,
    pub kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CodeFlow {
    pub thread_flows: [ThreadFlow; 1],
}

#[derive(Serialize)]
pub(crate) struct ThreadFlow {
    pub locations: Vec<Step>,
}

#[derive(Serialize)]
pub(crate) struct Step {
    pub location: Location,
}

#[derive(Serialize)]
pub(crate) struct PartialFingerprints {
    /// The one that GitHub compares.
    #[serde(rename = "primaryLocationLineHash", skip_serializing_if = "Option::is_none")]
    pub primary_location_line_hash: Option<String>,
    /// Ours, which other tools may compare.
    #[serde(rename = "trainlint/v1")]
    pub own: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FixEntry<'a> {
    pub description: Text,
    pub artifact_changes: Vec<ArtifactChange<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ArtifactChange<'a> {
    pub artifact_location: ArtifactLocation,
    pub replacements: Vec<Replacement<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Replacement<'a> {
    pub deleted_region: Region,
    pub inserted_content: Content<'a>,
}

#[derive(Serialize)]
pub(crate) struct Content<'a> {
    pub text: &'a str,
}
