//! What other tools read of this repository, and what its pages tell people to type.

use crate::findings::root;
use crate::harness::Project;
use saphyr::{LoadableYamlNode, Yaml};
use trainlint::cli::manual;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn the_hooks_of_pre_commit_run() {
    let text = read(".pre-commit-hooks.yaml");
    let hooks = Yaml::load_from_str(&text).unwrap();
    let hooks = hooks[0].as_vec().unwrap();
    assert_eq!(hooks.len(), 2);
    let project = Project::new().file("train.py", "import torch\n").file("build/made.py", "import torch\n");
    for hook in hooks {
        let entry = hook["entry"].as_str().unwrap();
        let mut words: Vec<&str> = entry.split(' ').skip(1).collect();
        let takes_files = hook.as_mapping_get("pass_filenames").is_none();
        if takes_files {
            words.extend(["train.py", "build/made.py"]);
        }
        let ran = project.run(&words);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, "no findings in 1 file\n"), "{entry}");
        assert_eq!(hook["require_serial"].as_bool(), Some(true), "{entry}");
    }
}

#[test]
fn the_action_is_well_formed() {
    let text = read("action.yml");
    let action = Yaml::load_from_str(&text).unwrap();
    let steps = action[0]["runs"]["steps"].as_vec().unwrap();
    for step in steps.iter().filter_map(|step| step.as_mapping_get("run").and_then(|run| run.as_str())) {
        assert!(!step.contains("${{"), "an input in a script is a command of whoever writes it: {step}");
    }
}

#[test]
fn flags_that_pages_tell_people_to_type_exist() {
    let known = manual();
    for page in
        ["README.md", "docs/integrations.md", "docs/configuration.md", "action.yml", ".pre-commit-hooks.yaml"]
    {
        let text = read(page);
        for line in text.lines().filter(|line| line.contains("trainlint ")) {
            let said = line.split("trainlint ").skip(1).collect::<Vec<_>>().join(" ");
            // After a pipe another program's flags follow.
            let said = said.split(['|', '#']).next().unwrap_or_default();
            for word in said
                .split([' ', '`', '=', '"', ',', ')'])
                .filter(|word| word.starts_with("--") && word.len() > 2)
            {
                // Alone, with a value, or after its short form.
                let forms =
                    [format!("`{word}`"), format!("`{word} "), format!(", {word}`"), format!(", {word} ")];
                let exists = forms.iter().any(|form| known.contains(form));
                assert!(exists, "{page}: `{word}` in «{line}» is no flag of trainlint");
            }
        }
    }
}
