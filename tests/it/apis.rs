//! The tables are sorted, sourced and consistent, and mistakes in them are told with a place.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use trainlint::apis::{
    Api, Apis, Computed, Expects, Literal, Need, Operand, PoleKind, RangeFunction, RangeSpec, Role, Slot,
    Transfer, Verb, Vocabulary, Weights,
};
use ustr::ustr;

fn tables() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/apis");
    let mut tables: Vec<(PathBuf, String)> = std::fs::read_dir(folder)
        .expect("the tables are there")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("readable")))
        .collect();
    tables.sort();
    assert!(tables.len() > 10, "only {} tables", tables.len());
    tables
}

/// Names of the entries of a table, in the order of the file.
fn headers(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("[\"")?.strip_suffix("\"]")).collect()
}

fn get(name: &str) -> &'static Api {
    Apis::builtin().get(ustr(name)).unwrap_or_else(|| panic!("no entry for {name}"))
}

#[test]
fn entries_are_sorted_within_their_file_and_stand_in_one_only() {
    let mut seen: HashMap<String, PathBuf> = HashMap::new();
    for (path, text) in tables() {
        let names = headers(&text);
        assert!(names.is_sorted(), "{}: entries are not sorted", path.display());
        for name in names {
            if let Some(other) = seen.insert(name.to_owned(), path.clone()) {
                panic!("{name} stands in {} and in {}", other.display(), path.display());
            }
        }
    }
    assert_eq!(seen.len(), Apis::builtin().entries().count(), "entries got lost on the way");
}

#[test]
fn entries_belong_to_the_packages_of_their_file() {
    for (path, text) in tables() {
        let line = text.lines().find(|line| line.starts_with("packages = ")).unwrap_or_default();
        for name in headers(&text) {
            let top = name.split('.').next().unwrap_or_default();
            assert!(
                line.contains(&format!("\"{top}\"")),
                "{}: {name} is of no package of it",
                path.display()
            );
        }
    }
}

#[test]
fn every_entry_has_a_source() {
    for api in Apis::builtin().entries() {
        assert!(api.source.starts_with("https://"), "{} has the source `{}`", api.name, api.source);
    }
}

#[test]
fn every_entry_says_something() {
    for api in Apis::builtin().entries() {
        let says =
            api.gives.is_some() || api.class.is_some() || api.context.is_some() || !api.effects.is_empty();
        assert!(says, "{} says nothing", api.name);
    }
}

#[test]
fn no_other_name_collides() {
    let mut owner: HashMap<String, String> = HashMap::new();
    let mut claim = |name: &str, by: &str| {
        if let Some(other) = owner.insert(name.to_owned(), by.to_owned()) {
            panic!("{name} is claimed by {other} and by {by}");
        }
    };
    for (_, text) in tables() {
        let document: toml::Table = text.parse().expect("the build has read it");
        for (name, entry) in document.iter().filter(|(name, _)| name.contains('.')) {
            claim(name, name);
            for also in entry.get("also").and_then(toml::Value::as_array).into_iter().flatten() {
                claim(also.as_str().expect("names"), name);
            }
        }
    }
    assert!(owner.len() > 1000);
}

#[test]
fn every_name_that_an_entry_mentions_exists() {
    let apis = Apis::builtin();
    for api in apis.entries() {
        let Some(class) = &api.class else { continue };
        for base in &class.is {
            assert!(apis.class(*base).is_some(), "{} is a `{base}`, which is no class", api.name);
        }
        if let Some(call) = class.call {
            assert!(apis.get(call).is_some(), "{} calls `{call}`, which is not there", api.name);
        }
    }
}

/// The parser refuses words of no list; this keeps the lists themselves in order.
fn is_in_order<W: Vocabulary>() {
    let names: Vec<&str> = W::ALL.iter().map(|word| word.name()).collect();
    assert!(names.is_sorted(), "{names:?}");
    for word in W::ALL.iter().map(|word| word.word()) {
        let slots: Vec<Slot> = word.required.iter().chain(word.optional).copied().collect();
        for (index, slot) in slots.iter().enumerate() {
            assert_eq!(word.position(*slot), Some(index), "`{}` has two operands of a name", word.name);
        }
    }
}

#[test]
fn words_are_sorted_and_their_operands_differ() {
    is_in_order::<Transfer>();
    is_in_order::<RangeFunction>();
    is_in_order::<PoleKind>();
    is_in_order::<Computed>();
    is_in_order::<Verb>();
    is_in_order::<Need>();
}

fn slots_of<W: Vocabulary>() -> impl Iterator<Item = Slot> {
    W::ALL
        .iter()
        .map(|word| word.word())
        .flat_map(|word| word.required.iter().chain(word.optional).copied().chain(word.further))
}

#[test]
fn every_name_of_an_operand_is_used() {
    let numbers = slots_of::<RangeFunction>().chain(slots_of::<PoleKind>()).chain(slots_of::<Computed>());
    let used: Vec<Slot> =
        numbers.chain(slots_of::<Transfer>()).chain(slots_of::<Verb>()).chain(slots_of::<Need>()).collect();
    for slot in Slot::ALL {
        assert!(used.contains(slot), "no word has an operand `{}`", slot.name());
    }
}

/// Other words may be for the tables of users only: our own say a pole by the range, and move nothing in place.
#[test]
fn every_transfer_and_range_is_used() {
    fn all_of<W: Vocabulary>(used: &[W]) {
        for word in W::ALL {
            assert!(used.contains(word), "no entry uses the {} `{}`", W::KIND, word.name());
        }
    }
    let entries: Vec<&Api> = Apis::builtin().entries().collect();
    let makes = |api: &Api| Some(api.class.as_ref()?.makes.as_ref()?.verb);
    all_of::<Transfer>(
        &entries.iter().flat_map(|api| api.transfer().into_iter().chain(makes(api))).collect::<Vec<_>>(),
    );
    all_of::<RangeFunction>(&entries.iter().filter_map(|api| api.range_function()).collect::<Vec<_>>());
}

/// Between these the page about the tables is written by the test below.
const FIRST: &str =
    "<!-- Written by `UPDATE=1 cargo test the_words`; edit the declarations in src/apis instead. -->\n";
const LAST: &str = "<!-- The end of what is written. -->\n";

fn table_of<W: Vocabulary>(title: &str, heading: &str) -> String {
    let mut table = format!("\n### {title}\n\n| {heading} | meaning |\n| --- | --- |\n");
    for word in W::ALL.iter().map(|word| word.word()) {
        writeln!(table, "| `{}` | {} |", word.usage(), word.meaning.replace('|', "\\|")).unwrap();
    }
    table
}

#[test]
fn the_words_of_the_tables_are_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("rules/apis/README.md");
    let current = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = current.split_once(FIRST).expect("the words begin somewhere");
    let (_, after) = rest.split_once(LAST).expect("the words end somewhere");
    let words = [
        table_of::<Transfer>("Transfers: `gives`, `makes`", "transfer"),
        table_of::<Verb>("Effects: `effects`", "effect"),
        table_of::<Need>("Needs: `needs`", "need"),
        table_of::<RangeFunction>("Functions on intervals: `range`", "function"),
        table_of::<PoleKind>("Poles: `pole`", "pole"),
        table_of::<Computed>("Functions of a replay: `computes`", "function"),
    ]
    .concat();
    let wanted = format!("{before}{FIRST}{words}\n{LAST}{after}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let current = std::fs::read_to_string(&path).unwrap();
    assert_eq!(current, wanted, "rules/apis/README.md is old; `UPDATE=1 cargo test the_words` writes it");
}

/// A receiver is a parameter like others, so a method without any cannot be called.
#[test]
fn methods_have_their_receiver() {
    for api in Apis::builtin().entries() {
        let Some((class, _)) = api.name.rsplit_once('.') else {
            continue;
        };
        if Apis::builtin().class(ustr(class)).is_some() && api.class.is_none() && !api.property {
            assert!(!api.params.is_empty() || class.ends_with("Callback"), "{} has no parameters", api.name);
        }
    }
}

#[test]
fn names_lead_to_their_entry() {
    let relu = get("torch.relu");
    assert_eq!(relu.name, "torch.nn.functional.relu");
    assert_eq!(get("torch.Tensor.relu").name, relu.name);
    assert_eq!(get("torch.nn.modules.linear.Linear").name, "torch.nn.Linear");
    assert_eq!(get("torch.optim.adam.Adam").name, "torch.optim.Adam");
    assert_eq!(get("torch.optim.Adam.step").name, "torch.optim.Optimizer.step");
    assert_eq!(get("tensorflow.keras.layers.Dense").name, "keras.layers.Dense");
    assert!(Apis::builtin().get(ustr("torch.nn")).is_none());
    assert!(Apis::builtin().get(ustr("torch.nn.Liner")).is_none());
    assert!(Apis::builtin().prefix_known("torch.nn"));
    assert!(Apis::builtin().prefix_known("torch"));
    assert!(!Apis::builtin().prefix_known("torch.nm"));
}

#[test]
fn methods_roles_and_bases_are_inherited() {
    let apis = Apis::builtin();
    let step = apis.method(ustr("torch.optim.Adam"), ustr("step")).expect("inherited");
    assert_eq!(step.name, "torch.optim.Optimizer.step");
    assert_eq!(step.effects[0].verb, Verb::Step);
    assert_eq!(step.effects[0].args[0], Operand::Param(ustr("self")));
    assert_eq!(apis.role(ustr("torch.optim.AdamW")), Some(Role::Optimizer));
    assert_eq!(apis.role(ustr("torch.nn.modules.conv.Conv2d")), Some(Role::Module));
    assert_eq!(apis.role(ustr("torch.nn.functional.relu")), None);
    assert!(apis.is_a(ustr("torch.nn.Conv2d"), ustr("torch.nn.Module")));
    assert!(apis.is_a(ustr("torch.nn.Conv2d"), ustr("torch.nn.modules.module.Module")));
    assert!(!apis.is_a(ustr("torch.nn.Module"), ustr("torch.nn.Conv2d")));
    assert!(apis.method(ustr("torch.nn.Parameter"), ustr("detach")).is_some());
    let called = apis.instance_call(ustr("transformers.BertModel")).expect("its base says so");
    assert_eq!(called.name, "transformers.PreTrainedModel");
    assert!(apis.owns(ustr("transformers.Seq2SeqTrainer")).contains(&ustr("loop")));
    assert!(apis.owns(ustr("torch.nn.Linear")).is_empty());
}

#[test]
fn entries_survive_packing() {
    let loss = get("torch.nn.functional.cross_entropy");
    assert_eq!(loss.loss.as_ref().map(|loss| loss.expects), Some(Expects::Logits));
    let reduction = loss.params.iter().find(|param| param.name == "reduction").expect("a parameter");
    assert_eq!(reduction.default, Some(Literal::Str(ustr("mean"))));
    assert_eq!(get("torch.nn.CrossEntropyLoss").class.as_ref().and_then(|class| class.call), Some(loss.name));
    let linear = get("torch.nn.Linear").class.as_ref().expect("a class");
    let Some(Weights::Sum(sum)) = &linear.weights else { panic!("{:?}", linear.weights) };
    assert_eq!(sum.len(), 2);
    assert_eq!(sum[0][1], Operand::Param(ustr("out_features")));
    let rand = get("torch.rand").range.clone();
    assert_eq!(rand, Some(RangeSpec::Interval { low: 0.0, low_open: false, high: 1.0, high_open: true }));
    let mnist = get("torchvision.datasets.MNIST").dataset.as_ref().expect("a dataset");
    assert!(mnist.samples.contains(&(Some(Literal::Bool(true)), 60_000)));
    assert_eq!(*mnist.sample, [1, 28, 28]);
}

#[test]
fn things_are_recognised_by_use_and_by_name() {
    let apis = Apis::builtin();
    let used =
        |names: &[&str]| apis.role_by_use(&names.iter().map(|name| ustr(name)).collect::<Vec<_>>(), false);
    assert_eq!(used(&["zero_grad", "step"]), Some(Role::Optimizer));
    assert_eq!(used(&["parameters", "eval"]), Some(Role::Module));
    assert_eq!(used(&["step"]), None);
    assert_eq!(apis.role_by_name("optimizer_d".into()), Some(Role::Optimizer));
    assert_eq!(apis.role_by_name("train_loader".into()), Some(Role::Loader));
    assert_eq!(apis.role_by_name("path".into()), None);
    assert!(apis.is_pure(ustr("numpy")) && !apis.is_pure(ustr("torch")));
    assert!(apis.frameworks().contains(&ustr("torch")));
}

fn refused(text: &str) -> String {
    match Apis::load(&[("mine.toml", text)]) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("accepted: {text}"),
    }
}

#[test]
fn mistakes_have_a_place_and_a_guess() {
    let cases = [
        ("[\"mine.f\"]\nparms = []\n", "mine.toml:2:1: unknown key `parms`; did you mean `params`?"),
        (
            "[\"mine.f\"]\nparams = [\"x\"]\ngives = \"liek x\"\n",
            "mine.toml:3:10: unknown transfer `liek`; did you mean `like`?",
        ),
        (
            "[\"mine.f\"]\nparams = [\"value\"]\ngives = \"like vlaue\"\n",
            "mine.toml:3:15: unknown parameter `vlaue`; did you mean `value`?",
        ),
        (
            "[\"mine.f\"]\nparams = [\"opt\"]\neffects = [\"cleer opt\"]\n",
            "mine.toml:3:13: unknown effect `cleer`; did you mean `clear`?",
        ),
        (
            "[\"mine.f\"]\nrange = \"clam 0 1 2\"\n",
            "mine.toml:2:10: unknown range function `clam`; did you mean `clamp`?",
        ),
        (
            "[\"mine.f\"]\nrange = \"[1, 0]\"\n",
            "mine.toml:2:10: `[1, 0]` is not an interval such as `[0, 1)`",
        ),
        ("[\"mine.C\"]\nrole = \"modul\"\n", "mine.toml:2:9: unknown role `modul`; did you mean `module`?"),
        (
            "[\"mine.C\"]\nis = [\"mine.Bass\"]\n[\"mine.Base\"]\nrole = \"module\"\n",
            "mine.toml:2:8: unknown name `mine.Bass`; did you mean `mine.Base`?",
        ),
        ("framework = []\n", "mine.toml:1:1: unknown key `framework`; did you mean `frameworks`?"),
        (
            "[\"mine.f\"]\ngives = 3\n",
            "mine.toml:2:9: a plain string without escapes belongs here, this is a integer",
        ),
        (
            "[\"mine.f\"]\ngives = \"like\"\n",
            "mine.toml:2:10: `like` takes at least 1 operands, this gives 0",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(refused(text), message, "of {text}");
    }
    assert!(refused("[\"mine.f\"\n").starts_with("mine.toml:1:"));
}

#[test]
fn a_users_table_adds_and_overrides() {
    let table = r#"
pure = ["mine_plots"]

["mine.Net"]
is = ["torch.nn.Module"]

["mine.engine.Engine"]
role = "engine"
owns = ["backward", "clear"]

["mine.engine.Engine.run"]
params = ["self", "loss"]
effects = ["backward loss"]
gives = "none"

["torch.relu"]
params = ["input"]
gives = "unknown"
"#;
    let apis = Apis::load(&[("mine.toml", table)]).expect("a good table");
    assert_eq!(apis.role(ustr("mine.Net")), Some(Role::Module));
    assert!(apis.method(ustr("mine.Net"), ustr("parameters")).is_some());
    let run = apis.method(ustr("mine.engine.Engine"), ustr("run")).expect("its method");
    assert_eq!(run.effects[0].verb, Verb::Backward);
    assert_eq!(apis.get(ustr("torch.relu")).map(|api| api.name), Some(ustr("torch.relu")));
    assert!(apis.is_pure(ustr("mine_plots")) && apis.is_pure(ustr("numpy")));
    assert!(apis.prefix_known("mine.engine"));
}
