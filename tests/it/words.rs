//! The words of what a user reads: those that `docs/style.md` rules out, and, for each rule, the words or the
//! error message that bring people to its page.

use crate::findings::{findings_of, root};
use crate::fixtures::of_rules;
use crate::pages::pages;
use std::collections::BTreeMap;
use trainlint::checks::all;

/// What people type into a search engine, or what the framework prints, for each rule. Messages are those of the
/// frameworks' sources.
const SEARCHED: &[(&str, &str)] = &[
    ("aliased-state-dict", "best_model_state = model.state_dict()"),
    ("always-on-dropout", "dropout active during evaluation"),
    ("always-true-option", "argparse boolean is always True"),
    ("array-for-tensor", "must be Tensor, not numpy.ndarray"),
    ("augmented-evaluation-data", "random_split different transforms for train and validation"),
    ("backward-arity", "returned an incorrect number of gradients"),
    ("backward-mismatches-forward", "Jacobian mismatch for output 0 with respect to input 0"),
    ("backward-through-freed-graph", "backward through the graph a second time"),
    ("backward-under-autocast", "backward inside autocast"),
    ("backward-without-step", "forgot optimizer.step()"),
    ("bce-under-autocast", "binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast"),
    ("behavior-changed", "Weights only load failed"),
    ("broadcast-loss", "This will likely lead to incorrect results due to broadcasting"),
    ("bypassed-strategy", "apply_gradients() cannot be called in cross-replica context"),
    ("cache-emptied-in-loop", "CUDA out of memory"),
    ("checkpoint-without-reentrant-choice", "the use_reentrant parameter should be passed explicitly"),
    ("clip-before-unscale", "gradient clipping with GradScaler"),
    ("conflicting-arguments", "At most one of fp16 and bf16 can be True, but not both"),
    ("conflicting-requirements", "works with neither version"),
    ("constant-loss-term", "argmax not differentiable"),
    ("contradictory-determinism", "cudnn deterministic benchmark both True"),
    ("cpu-tensor-in-forward", "Expected all tensors to be on the same device"),
    ("cuda-in-worker", "Cannot re-initialize CUDA in forked subprocess"),
    ("debugging-left-on", "set_detect_anomaly slow training"),
    ("deprecated-api", "module 'numpy' has no attribute 'float'"),
    ("detached-loss", "element 0 of tensors does not require grad and does not have a grad_fn"),
    ("device-compared-to-string", "torch.device == \"cuda\" is False"),
    ("device-dependent-result", "different results on CPU and GPU"),
    ("device-mismatch", "Expected all tensors to be on the same device"),
    ("double-normalization", "ToTensor already divides by 255"),
    ("dropped-evaluation-samples", "drop_last validation accuracy"),
    ("dropped-result", "tensor.to(device) does not work"),
    ("dtype-mismatch", "mat1 and mat2 must have the same dtype"),
    ("duplicated-iterable-data", "IterableDataset duplicate data num_workers"),
    ("element-loop-on-gpu", "for loop over a GPU tensor is slow"),
    ("exhausted-parameters", "optimizer got an empty parameter list"),
    ("forward-called-directly", "difference between model(x) and model.forward(x)"),
    ("frozen-in-optimizer", "layer not training"),
    ("full-dataset-batch", "CUDA out of memory"),
    ("graph-broken-in-forward", "param.grad is None"),
    ("half-model-with-scaler", "Attempting to unscale FP16 gradients."),
    ("half-precision-without-scaler", "gradient underflow in float16"),
    ("ignored-reduction", "size_average and reduce args will be deprecated"),
    (
        "inplace-between-backwards",
        "one of the variables needed for gradient computation has been modified by an inplace operation",
    ),
    (
        "inplace-on-saved-tensor",
        "one of the variables needed for gradient computation has been modified by an inplace operation",
    ),
    ("invalid-syntax", "SyntaxError"),
    ("keras-logits-mismatch", "from_logits=True"),
    ("label-encoding-mismatch", "sparse_categorical_crossentropy vs categorical_crossentropy"),
    ("large-allocation-in-loop", "CUDA out of memory"),
    ("late-visible-devices", "CUDA_VISIBLE_DEVICES has no effect"),
    ("leaf-modified-in-place", "a leaf Variable that requires grad is being used in an in-place operation"),
    ("leaked-test-data", "data leakage train_test_split StandardScaler"),
    ("loader-built-in-loop", "DataLoader slow at the start of each epoch"),
    ("loader-restarted-every-step", "next(iter(dataloader)) same batch every time"),
    ("log-of-softmax", "loss is nan"),
    ("lossy-cast-in-kernel", "float truncated to int"),
    ("mask-overflow", "value cannot be converted to type c10::Half without overflow"),
    ("matrix-inverse-in-loss", "the inversion could not be completed because the input matrix is singular"),
    ("misaveraged-loss", "average loss divided by len(dataset)"),
    ("misaveraged-metric", "average f1 score over batches"),
    ("mismatched-arguments", "TypeError: forward() missing 1 required positional argument"),
    ("mismatched-unpacking", "too many values to unpack (expected 2)"),
    ("misplaced-clipping", "gradient clipping has no effect"),
    ("misplaced-zero-grad", "zero_grad before optimizer.step"),
    ("missing-attribute", "'tuple' object has no attribute"),
    ("missing-detach", "DQN target network detach"),
    ("missing-distributed-sampler", "DDP without DistributedSampler"),
    ("missing-eval-mode", "forgot model.eval()"),
    ("missing-history-key", "KeyError: 'acc'"),
    ("missing-no-grad", "CUDA out of memory"),
    ("missing-scheduler-step", "learning rate does not change"),
    ("missing-set-epoch", "forgot sampler.set_epoch()"),
    ("missing-super-init", "cannot assign module before Module.__init__() call"),
    ("missing-training-flag", "keras custom training loop dropout not working"),
    ("missing-zero-grad", "forgot zero_grad"),
    ("misspelt-attribute", "require_grad instead of requires_grad"),
    ("misused-kl-divergence", "KLDivLoss negative"),
    ("misused-tape", "A non-persistent GradientTape can only be used to compute one set of gradients"),
    ("model-built-in-loop", "OOM when allocating tensor"),
    ("nan-comparison", "check if loss is nan"),
    ("nan-through-where", "torch.where nan gradient"),
    ("needless-retain-graph", "CUDA out of memory"),
    ("nll-without-log-softmax", "NLLLoss is negative"),
    ("non-scalar-backward", "grad can be implicitly created only for scalar outputs"),
    ("one-class-softmax", "softmax output is always 1"),
    ("optimizer-built-in-loop", "optimizer created inside the training loop"),
    ("oversized-epsilon", "PyTorch batch norm momentum or eps"),
    ("parameter-lost-by-transfer", "can't optimize a non-leaf Tensor"),
    ("parameters-replaced-after-optimizer", "new layer is not trained"),
    ("partial-accumulation-lost", "gradient accumulation last batch"),
    ("predict-in-loop", "model.predict slow in a loop"),
    ("probabilities-as-classes", "MeanIoU with softmax output"),
    ("raw-backward", "accelerator.backward(loss)"),
    ("removed-api", "has no attribute"),
    ("retained-graph", "CUDA out of memory"),
    ("reused-key", "jax random same numbers every call"),
    ("scaler-not-updated", "step() has already been called since the last update()"),
    ("schedule-drives-replaced-optimizer", "learning rate scheduler has no effect"),
    ("scheduler-before-optimizer", "Detected call of `lr_scheduler.step()` before `optimizer.step()`"),
    ("scheduler-granularity", "call scheduler every epoch or every batch"),
    ("shape-mismatch", "mat1 and mat2 shapes cannot be multiplied"),
    ("shared-layers", "ModuleList layers share weights"),
    ("shared-worker-seed", "same random augmentations in every worker"),
    ("shuffle-with-sampler", "sampler option is mutually exclusive with shuffle"),
    ("side-effect-in-function", "jax jit side effects"),
    ("sigmoid-mismatch", "all elements of input should be between 0 and 1"),
    ("single-sample-statistics", "Expected more than 1 value per channel when training"),
    ("skipped-context", "python with statement two context managers and"),
    ("softmax-before-cross-entropy", "double softmax"),
    ("step-bypasses-scaler", "No inf checks were recorded prior to update"),
    ("step-outputs-never-cleared", "training_step_outputs.clear()"),
    ("step-without-backward", "parameters do not change after optimizer.step()"),
    ("stuck-in-eval", "forgot model.train()"),
    ("subtracted-mask", "Subtraction, the `-` operator, with a bool tensor is not supported"),
    ("swallowed-gpu-error", "CUDA out of memory"),
    ("swapped-gradients", "apply_gradients zip order"),
    ("swapped-loss-arguments", "CrossEntropyLoss arguments order"),
    ("tf-data-order", "tf.data shuffle before batch"),
    ("train-data-as-test-data", "validation accuracy equals training accuracy"),
    ("trainable-without-recompile", "Discrepancy between trainable weights and collected trainable weights"),
    ("unavailable-monitor", "EarlyStopping not stopping Keras"),
    ("unconvertible-tensor", "Can't call numpy() on Tensor that requires grad"),
    ("undefined-import", "ImportError: cannot import name"),
    ("undefined-name", "NameError: name is not defined"),
    ("undersized-output", "is out of bounds for dimension 0 with size"),
    ("undetached-hidden-state", "Trying to backward through the graph a second time"),
    ("unguarded-count", "num_pos is 0"),
    ("unknown-api", "has no attribute"),
    ("unregistered-submodule", "optimizer got an empty parameter list"),
    ("unsafe-arccos", "acos gradient is nan"),
    ("unsafe-division", "loss is nan"),
    ("unsafe-exponential", "exp overflow"),
    ("unsafe-log", "loss is nan"),
    ("unsafe-power", "loss is nan"),
    ("unsafe-root", "gradient of sqrt at zero is nan"),
    ("unscaled-accumulation", "gradient accumulation"),
    ("unshuffled-training-data", "forgot shuffle=True"),
    ("unsynchronized-timing", "pytorch measure inference time correctly"),
    ("untyped-option", "argparse value is str instead of float"),
    ("unused-suppression", "unused ignore comment"),
    ("vanishing-epsilon", "1e-8 in float16"),
    ("variable-in-function", "tf.function only supports singleton tf.Variables created on the first call"),
    ("whole-array-constant", "Cannot create a tensor proto whose content is larger than 2GB"),
    ("whole-dataset-on-gpu", "CUDA out of memory"),
    ("wrong-softmax-axis", "Implicit dimension choice for softmax"),
    ("wrong-target-dtype", "expected scalar type Long but found Float"),
];

/// Pages for users, beside those of the rules.
const DOCUMENTS: [&str; 19] = [
    "README.md",
    "docs/cli.md",
    "docs/configuration.md",
    "docs/doctor.md",
    "docs/editors.md",
    "docs/error-messages.md",
    "docs/how-it-works.md",
    "docs/installation.md",
    "docs/integrations.md",
    "docs/quick-start.md",
    "docs/replay.md",
    "docs/suppressions.md",
    "docs/troubleshooting.md",
    "editors/emacs/README.md",
    "editors/helix/README.md",
    "editors/neovim/README.md",
    "editors/sublime/README.md",
    "editors/vscode/README.md",
    "editors/zed/README.md",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// The last column of the table of terms: each phrase in backticks.
fn ruled_out() -> Vec<String> {
    let style = read("docs/style.md");
    let table = style.split("\n## Terms\n").nth(1).expect("the table of terms");
    let cells = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    let last = cells.filter_map(|line| line.trim_end_matches(" |").rsplit(" | ").next());
    last.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

/// Whether a phrase stands in a text as words of their own.
fn says(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let is_edge = |letter: Option<char>| letter.is_none_or(|one| !one.is_alphanumeric() && one != '-');
    text.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + phrase.len()..]);
        let is_sign = phrase.chars().all(|one| !one.is_alphanumeric());
        is_sign || is_edge(before.chars().next_back()) && is_edge(after.chars().next())
    })
}

/// The lines of a page that are neither code nor links.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

fn objections(place: &str, text: &str, ruled_out: &[String]) -> Vec<String> {
    let found = ruled_out.iter().filter(|phrase| says(text, phrase));
    found.map(|phrase| format!("{place}: `{phrase}` in: {text}")).collect()
}

#[test]
fn the_table_of_terms_is_read() {
    let ruled_out = ruled_out();
    assert!(ruled_out.len() > 50, "{ruled_out:?}");
    assert!(says("a loss of Ours", "of ours") && says("«x»", "«"));
    assert!(!says("hours", "ours") && !says("misspelt-attribute", "misspelt"));
}

#[test]
fn findings_use_the_terms_of_the_field() {
    let ruled_out = ruled_out();
    let mut wrong = Vec::new();
    for one in of_rules().iter().flat_map(|folder| findings_of(folder)) {
        let related = one.related.iter().map(|label| label.message.as_str());
        let texts = related.chain([one.message.as_str()]).chain(one.notes.iter().map(String::as_str));
        let texts = texts.chain(one.help.as_deref()).chain(one.fix.iter().map(|fix| fix.title.as_str()));
        wrong.extend(texts.flat_map(|text| objections(&one.rule, text, &ruled_out)));
    }
    wrong.extend(all().iter().flat_map(|rule| objections(rule.id, rule.summary, &ruled_out)));
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_use_the_terms_of_the_field() {
    let ruled_out = ruled_out();
    let documents = DOCUMENTS.iter().map(|path| ((*path).to_owned(), read(path)));
    let rules = pages().into_iter().map(|page| (format!("rules/{}.md", page.id), page.text));
    let mut wrong = Vec::new();
    for (path, text) in documents.chain(rules) {
        for (line, text) in prose(&text) {
            wrong.extend(objections(&format!("{path}:{line}"), text, &ruled_out));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pages_quote_what_people_search_for() {
    let known: Vec<&str> = SEARCHED.iter().map(|(rule, _)| *rule).collect();
    assert_eq!(known, pages().iter().map(|page| page.id.as_str()).collect::<Vec<_>>());
    for (page, (rule, quoted)) in pages().iter().zip(SEARCHED) {
        let line = page.text.lines().find(|line| line.starts_with("Often searched as: "));
        assert!(line.is_some_and(|line| line.contains(quoted)), "{rule}: the page does not quote `{quoted}`");
    }
}

const ERRORS: &str = "\
# Error messages

Written by `UPDATE=1 cargo test error_messages` from the pages of the rules; edit those instead.

What a framework prints, or what people type into a search engine, and the rules that find the cause before the run.
`trainlint check --select RULE` looks for one of them.
";

/// A piece of the line of a page that says what it is searched as, between two marks.
fn quoted(line: &str, mark: char) -> impl Iterator<Item = &str> {
    line.split(mark).skip(1).step_by(2)
}

/// Each text with the rules whose pages quote it.
fn index_of(mark: char, heading: &str) -> String {
    let mut rows: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for page in pages() {
        let line = page.text.lines().find(|line| line.starts_with("Often searched as: ")).unwrap_or_default();
        for text in quoted(line, mark) {
            rows.entry(text.to_owned()).or_default().push(format!("[{0}](../rules/{0}.md)", page.id));
        }
    }
    let lines = rows.iter().map(|(text, rules)| format!("| {mark}{text}{mark} | {} |\n", rules.join(", ")));
    format!("\n## {heading}\n\n| searched as | rules |\n| --- | --- |\n{}", lines.collect::<String>())
}

#[test]
fn the_page_of_error_messages_is_current() {
    let text = [ERRORS, &index_of('`', "Error messages"), &index_of('*', "Symptoms")].concat();
    let path = root().join("docs/error-messages.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(current == text, "docs/error-messages.md is old; `UPDATE=1 cargo test error_messages` writes it");
}

/// How many rules there are is counted, where the README says it.
#[test]
fn the_readme_counts_the_rules() {
    let path = root().join("README.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(" rules](rules/README.md)").expect("the number of rules");
    let start = before.rfind('[').unwrap() + 1;
    let counted = format!("{}{} rules](rules/README.md){rest}", &before[..start], all().len());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &counted).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == counted,
        "`UPDATE=1 cargo test the_readme` counts the rules"
    );
}
