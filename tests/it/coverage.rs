//! What was not judged is said: silence about a training step that nobody followed is no praise.

use crate::harness::Project;
use serde_json::Value;

const KNOWN: &str = "import torch\n\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x in torch.rand(9, 4, 2):\n    optimizer.zero_grad()\n    loss = model(x).mean()\n    loss.backward()\n    optimizer.step()\n";
const UNKNOWN: &str =
    "import torch\nfrom elsewhere import losses\n\nfor loss in losses:\n    loss.backward()\n";
/// Goes back by hand.
const BY_HAND: &str = "import torch\n\n\nclass Layer:\n    def backward(self, gradient):\n        return gradient\n\n\nLayer().backward(torch.ones(2))\n";
const LIBRARY: &str = "def descend(loss):\n    import torch\n    loss.backward()\n";
const CALLER: &str =
    "import torch\nfrom library import descend\n\ndescend(torch.nn.Linear(2, 1)(torch.rand(4, 2)).mean())\n";

fn json(project: &Project) -> Value {
    let ran = project.run(&["check", "--no-cache", "--output-format", "json", "."]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

#[test]
fn a_step_that_is_not_judged_is_told_with_what_is_not_known() {
    let project =
        Project::new().file("known.py", KNOWN).file("unknown.py", UNKNOWN).file("by_hand.py", BY_HAND);
    let report = json(&project);
    assert_eq!(report["coverage"]["training_steps"], 2, "{report}");
    let unjudged = report["coverage"]["not_judged"].as_array().unwrap();
    assert_eq!(unjudged.len(), 1, "{report}");
    assert_eq!((&unjudged[0]["path"], &unjudged[0]["line"]), (&"unknown.py".into(), &5.into()));
    let why = "the computation graph of `loss` is unknown";
    assert_eq!(unjudged[0]["message"], why);

    let ran = project.run(&["check", "--no-cache", "--verbose", "."]);
    assert!(ran.stdout.contains(&format!("unknown.py:5:5: not judged: {why}\n")), "{ran:?}");
    assert!(ran.stdout.contains("; 1 of 2 training steps not judged"), "{ran:?}");
}

/// Nobody sees the loss, and what the optimizer does with its gradients is plain.
const CONTRACT: &str = "import torch\nfrom elsewhere import compare, fetch\n\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\nfor x in fetch():\n    loss = compare(model(x))\n    loss.backward()\n    optimizer.step()\n";

#[test]
fn a_step_of_which_only_the_graph_is_unknown_is_judged_by_contract() {
    let touched = CONTRACT.replace("compare(model(x))", "train_on(model, x)").replace("compare", "train_on");
    let project = Project::new().file("contract.py", CONTRACT).file("touched.py", &touched);
    let report = json(&project);
    let told = |kind: &str| {
        let steps = report["coverage"][kind].as_array().unwrap();
        steps.iter().map(|step| step["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told("by_contract"), ["contract.py"], "{report}");
    assert_eq!(told("not_judged"), ["touched.py"], "{report}");
    assert_eq!(report["findings"][0]["rule"], "missing-zero-grad", "{report}");

    let ran = project.run(&["check", "--no-cache", "--verbose", "."]);
    assert!(ran.stdout.contains("contract.py:8:5: only its optimizer calls were judged: "), "{ran:?}");
    assert!(ran.stdout.contains("; 1 of 2 training steps not judged, 1 by optimizer calls only"), "{ran:?}");
}

#[test]
fn what_another_script_follows_is_judged() {
    let project = Project::new().file("library.py", LIBRARY).file("caller.py", CALLER);
    let report = json(&project);
    assert_eq!(report["coverage"]["training_steps"], 1, "{report}");
    assert_eq!(report["coverage"]["not_judged"].as_array().unwrap().len(), 0, "{report}");
}
