"""When a finding of trainlint and a fact of the oracle are about the same, and when they contradict each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from reports import Finding, Report

# Rules of which the oracle sees the truth: a finding without the fact is contradicted by a run that got so far.
JUDGED = {
    "missing-zero-grad", "misplaced-zero-grad", "backward-without-step", "unscaled-accumulation", "step-bypasses-scaler",
    "raw-backward", "clip-before-unscale", "misplaced-clipping", "exhausted-parameters", "scaler-not-updated",
    "scheduler-before-optimizer", "softmax-before-cross-entropy", "sigmoid-mismatch", "nll-without-log-softmax",
    "broadcast-loss", "detached-loss", "graph-broken-in-forward", "retained-graph", "needless-retain-graph",
    "undetached-hidden-state", "missing-no-grad", "missing-eval-mode", "stuck-in-eval", "optimizer-built-in-loop",
    "frozen-in-optimizer", "non-scalar-backward", "missing-super-init", "dtype-mismatch", "wrong-target-dtype", "device-mismatch",
    "step-without-backward", "inplace-between-backwards", "inplace-on-saved-tensor", "leaf-modified-in-place", "schedule-drives-replaced-optimizer",
}

NUMERIC = {
    "unsafe-log", "unsafe-root", "unsafe-division", "log-of-softmax", "unsafe-exponential", "unsafe-power", "vanishing-epsilon",
    "nan-through-where", "unsafe-arccos", "matrix-inverse-in-loss", "single-sample-statistics",
}

# Rules that say the same of one script in other words: a fact of one is reported by a finding of another.
SAME: dict[str, set[str]] = {
    "missing-zero-grad": {"misplaced-zero-grad"},
    "misplaced-zero-grad": {"missing-zero-grad", "backward-without-step"},
    "orphan-parameters": {"frozen-in-optimizer", "unregistered-submodule", "parameters-replaced-after-optimizer", "backward-without-step", "parameter-lost-by-transfer"},
    "detached-loss": {"graph-broken-in-forward", "misplaced-zero-grad", "step-without-backward"},
    "graph-broken-in-forward": {"detached-loss", "step-without-backward"},
    "empty-step": {"misplaced-zero-grad", "detached-loss", "graph-broken-in-forward", "misspelt-attribute", "step-without-backward", "backward-without-step"},
    "nothing-trains": {"misspelt-attribute", "detached-loss", "step-without-backward"},
    "softmax-before-cross-entropy": {"sigmoid-mismatch"},
    "sigmoid-mismatch": {"softmax-before-cross-entropy"},
    "undetached-hidden-state": {"retained-graph", "needless-retain-graph"},
    "retained-graph": {"undetached-hidden-state"},
    "missing-eval-mode": {"always-on-dropout"},
    "misplaced-clipping": {"detached-loss", "misplaced-zero-grad", "step-without-backward"},
    "raw-backward": {"step-bypasses-scaler", "misplaced-zero-grad", "misplaced-clipping", "detached-loss", "step-without-backward", "misspelt-attribute"},
    "device-mismatch": {"unregistered-submodule", "cpu-tensor-in-forward"},
    "scheduler-before-optimizer": {"backward-without-step", "scheduler-granularity", "schedule-drives-replaced-optimizer"},
    "schedule-of-idle-optimizer": {"backward-without-step", "scheduler-before-optimizer", "optimizer-built-in-loop", "schedule-drives-replaced-optimizer"},
    "schedule-outpaces-optimizer": {"scheduler-granularity", "schedule-drives-replaced-optimizer", "scheduler-before-optimizer", "backward-without-step", "optimizer-built-in-loop"},
    "stuck-in-eval": {"backward-without-step"},
    "modified-in-place": {"inplace-between-backwards", "inplace-on-saved-tensor"},
    "leaf-modified": {"leaf-modified-in-place"},
    "step-bypasses-scaler": {"clip-before-unscale"},
    "scaler-not-updated": {"misplaced-clipping"},
    "loss-not-finite": NUMERIC,
    "gradient-not-finite": NUMERIC,
    "unwalked-training-forward": {"missing-no-grad", "detached-loss", "misspelt-attribute", "step-without-backward"},
    "wrong-target-dtype": {"dtype-mismatch"},
    "dtype-mismatch": {"wrong-target-dtype"},
}

# Facts that are no fault in themselves; a rule speaks of them under conditions of its own.
REMARKS = {"unwalked-training-forward", "empty-step", "loss-not-finite", "gradient-not-finite", "log-softmax-before-cross-entropy", "error"}


@dataclass(frozen=True)
class Disagreement:
    kind: str  # "missed" or "false"
    rule: str
    line: str
    detail: str
    excuse: str = ""

    @property
    def signature(self) -> tuple[str, str]:
        return self.kind, self.rule


@dataclass
class Comparison:
    agreed: list[tuple[str, str]]
    disagreements: list[Disagreement]
    remarks: list[str]


def compare(report: Report, seen: dict[str, Any]) -> Comparison:
    facts = [fact for fact in seen["facts"] if fact["fact"] not in REMARKS]
    by_rule: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_rule.setdefault(finding.rule, []).append(finding)
    agreed, disagreements = [], []
    for fact in facts:
        rule = fact["fact"]
        if any(found in by_rule for found in {rule} | SAME.get(rule, set())):
            agreed.append((rule, fact["lines"][0] if fact["lines"] else ""))
        else:
            line = fact["lines"][0] if fact["lines"] else ""
            disagreements.append(Disagreement("missed", rule, line, fact["detail"], excuse(report, fact, seen)))
    ran = bool(seen["steps"]) and not seen["error"] and not seen["stopped"]
    told = {fact["fact"] for fact in seen["facts"]}
    for rule, findings in by_rule.items():
        supported = {rule} | {fact for fact, rules in SAME.items() if rule in rules}
        if rule in JUDGED and ran and not told & supported:
            strongest = max(findings, key=lambda one: ["low", "medium", "high"].index(one.confidence))
            disagreements.append(Disagreement("false", rule, strongest.line, f"{strongest.severity}/{strongest.confidence}: {strongest.message}"))
    remarks = [fact["fact"] for fact in seen["facts"] if fact["fact"] in REMARKS]
    return Comparison(agreed, disagreements, remarks)


def excuse(report: Report, fact: dict[str, Any], seen: dict[str, Any]) -> str:
    """Why a fact may be missing: trainlint says what it has not judged, and what ended the run was another fault."""
    if report.not_judged:
        return f"not judged: {report.not_judged[0][1]}"
    return ""
