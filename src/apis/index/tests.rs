use super::*;

fn known(path: &str) -> Known {
    match ask(path) {
        Answer::Known(known) => known,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn every_package_is_there_whole() {
    let names: Vec<&str> = all().iter().map(|(name, _)| *name).collect();
    let files = [
        "accelerate",
        "flax",
        "haiku",
        "jax",
        "keras",
        "lightning",
        "numpy",
        "optax",
        "pytorch_lightning",
        "tensorflow",
        "torch",
        "torchaudio",
        "torchvision",
        "transformers",
    ];
    assert_eq!(names, files);
}

#[test]
fn names_are_found_under_all_their_names() {
    assert_eq!(known("torch.nn.Linear").path, "torch.nn.Linear");
    assert_eq!(known("torch.nn.modules.linear.Linear").path, "torch.nn.Linear");
    assert_eq!(known("tensorflow.keras.layers.Dense").path, "tensorflow.keras.layers.Dense");
    assert!(matches!(ask("torch.Tensor.unsqueeze_"), Answer::Known(_)));
}

#[test]
fn what_never_was_is_missing_from_what_is_known_whole() {
    let missing = |path: &str| match ask(path) {
        Answer::Missing(Missing { holder, name, .. }) => (holder, name),
        other => panic!("{path}: {other:?}"),
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        missing("tensorflow.test.is_built_with_cudnn"),
        pair("tensorflow.test", "is_built_with_cudnn")
    );
    assert_eq!(missing("torch.nn.L2Loss.forward"), pair("torch.nn", "L2Loss"));
    assert_eq!(missing("numpy.foo"), pair("numpy", "foo"));
}

#[test]
fn what_nobody_listed_may_be_there() {
    for path in ["pandas.foo", "jaxlib.foo"] {
        assert_eq!(ask(path), Answer::Unknown, "{path}");
    }
    for path in ["torch.ops.mine.op", "torch._foo", "torch.cuda.is_available.foo", "torch.classes.x"] {
        assert!(matches!(ask(path), Answer::Part(_)), "{path}: {:?}", ask(path));
    }
}

#[test]
fn releases_tell_what_came_and_went() {
    let releases = |path: &str| &of(path).unwrap().1.releases;
    let name = |path: &str, at: u8| releases(path).name(at).to_owned();
    let lstsq = known("torch.lstsq").span;
    assert_eq!((name("torch", lstsq.first), name("torch", lstsq.last)), ("1.2.0".into(), "1.12.1".into()));
    assert!(name("torch", known("torch.compile").span.first).starts_with("2.0"));
    let Answer::Part(contrib) = ask("tensorflow.contrib.layers.fully_connected") else { panic!() };
    assert_eq!(
        (contrib.path.as_str(), name("tensorflow", contrib.span.last)),
        ("tensorflow.contrib", "1.15.5".into())
    );
    assert!(name("tensorflow", known("tensorflow.keras.Model").span.first).starts_with("1."));
    assert!(name("numpy", known("numpy.float").span.last).starts_with("1.23"));
}

#[test]
fn what_lies_before_the_first_stubs_is_not_known() {
    let Answer::Missing(missing) = ask("torch.no_such_name") else { panic!() };
    assert_eq!(missing.unsure, Some(Span { first: 0, last: 0 }));
}

#[test]
fn keywords_are_those_of_the_signature() {
    let keywords = known("torch.utils.data.DataLoader").keywords.unwrap();
    assert!(keywords.listed.iter().any(|(name, _)| *name == "num_workers"));
    assert!(!keywords.listed.iter().any(|(name, _)| *name == "num_worker"));
    assert_eq!(known("torch.nn.Module").keywords, None);
}

#[test]
fn the_texts_say_where_they_are_wrong() {
    let error = |text: &str| text::parse(text).unwrap_err();
    let wrong = |line: &str| error(&format!("versions 1 2\npythons - 3.8-\nothers\n{line}\n"));
    assert_eq!(error("torch m\n"), "line 1: expected `versions …`");
    assert_eq!(error("versions 1 2\n"), "line 2: expected `pythons …`");
    assert!(wrong("a x").starts_with("line 4: not understood"));
    assert!(wrong("..a m").starts_with("line 4: too deep"));
    assert!(wrong("a m @1-2").starts_with("line 4: not understood"));
    assert!(wrong("a m*1-2").starts_with("line 4: not understood"));
}

#[test]
fn what_replaces_a_name_is_told() {
    assert_eq!(instead("torch.lstsq"), Some("torch.linalg.lstsq"));
    assert_eq!(instead("torch.add"), None);
}

/// What importing a release shows, as `scripts/installed_names.py` wrote it: the release, and for each name its
/// parameters, if they are known.
fn installed(text: &str) -> (String, Vec<(String, Option<Vec<&str>>)>) {
    let mut lines = text.lines();
    let release = lines.next().unwrap().rsplit(' ').next().unwrap().split('+').next().unwrap().to_owned();
    let (mut above, mut found): (Vec<&str>, Vec<_>) = (Vec::new(), Vec::new());
    for line in lines {
        let (dotted, rest) = line.split_once(' ').unwrap();
        let name = dotted.trim_start_matches('.');
        above.truncate(dotted.len() - name.len());
        above.push(name);
        let params = rest.split_once('(').map(|(_, params)| params.trim_end_matches(')'));
        let params =
            params.filter(|params| *params != "**").map(|params| params.split_ascii_whitespace().collect());
        found.push((above.join("."), params));
    }
    (release, found)
}

/// What is wrong in saying that a release does not have a name, or a parameter; and whether much is said of it.
fn denied(releases: &Releases<'_>, at: Span, path: &str, params: Option<&[&str]>) -> Vec<String> {
    let lacks =
        |span: Span, unsure: Option<Span>| !span.meets(at) && !unsure.is_some_and(|span| span.meets(at));
    let told = |span: Span| format!("{}–{}", releases.name(span.first), releases.name(span.last));
    match ask(path) {
        Answer::Unknown => Vec::new(),
        Answer::Missing(missing) if missing.unsure.is_some_and(|span| span.meets(at)) => Vec::new(),
        Answer::Missing(missing) => vec![format!("{}.{} missing", missing.holder, missing.name)],
        Answer::Part(known) | Answer::Known(known) if lacks(known.span, known.unsure) => {
            // Another name of something may be what came late.
            let own = match ask(&known.path) {
                Answer::Known(target) if !lacks(target.span, target.unsure) => path,
                _ => known.path.as_str(),
            };
            vec![format!("{own} in {} only", told(known.span))]
        }
        Answer::Part(_) => Vec::new(),
        Answer::Known(known) => {
            let Some(keywords) = &known.keywords else { return Vec::new() };
            let lacks = |name: &&&str| match keywords.listed.iter().find(|(listed, _)| listed == *name) {
                Some((_, span)) => lacks(*span, keywords.unsure),
                None => !keywords.unsure.is_some_and(|span| span.meets(at)),
            };
            params
                .unwrap_or_default()
                .iter()
                .filter(lacks)
                .map(|name| format!("{}({name})", known.path))
                .collect()
        }
    }
}

/// Names that nobody has, made of names that are there: one letter is another.
#[test]
fn names_that_no_release_has_are_missing_where_all_are_known() {
    let text =
        std::fs::read_to_string(format!("{}/tests/installed/torch-2.9.1.txt", env!("CARGO_MANIFEST_DIR")));
    let text = text.unwrap();
    let (_, names) = installed(&text);
    let is_told = |path: &str| path.starts_with("torch.nn.functional.") || path.matches('.').count() == 1;
    let letters: Vec<String> = names
        .iter()
        .map(|(path, _)| path)
        .filter(|path| is_told(path))
        .map(|path| format!("{}Q{}", &path[..path.len() - 1], &path[path.len() - 1..]))
        .collect();
    let unknown: Vec<&String> =
        letters.iter().filter(|path| !matches!(ask(path), Answer::Missing(_))).collect();
    assert!(letters.len() > 1200, "{}", letters.len());
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn no_name_of_an_installed_release_is_missing() {
    let folder =
        std::env::var("INSTALLED").unwrap_or(format!("{}/tests/installed", env!("CARGO_MANIFEST_DIR")));
    let mut wrong = Vec::new();
    let mut files = 0;
    for file in std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let (release, names) = installed(&text);
        let (package, index) = of(&names[0].0).unwrap();
        let mut pins = Pins::default();
        let origin = Origin { base: String::new(), file: String::new(), line: 0, is_weak: false };
        let distribution = match package {
            "pytorch_lightning" => "pytorch-lightning",
            "haiku" => "dm-haiku",
            other => other,
        };
        pins.pin(distribution, &format!("=={release}"), origin);
        let Wanted::Within { span, .. } = pins.wanted(package, index) else { panic!("{package} {release}") };
        files += 1;
        for (path, params) in &names {
            let found = denied(&index.releases, span, path, params.as_deref());
            wrong.extend(found.into_iter().map(|what| format!("{package} {release}: {what}")));
        }
        println!("{package} {release}: {} names", names.len());
    }
    assert!(files > 0);
    assert!(wrong.is_empty(), "{} are denied:\n{}", wrong.len(), wrong.join("\n"));
}
