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
        "PIL",
        "accelerate",
        "albumentations",
        "flax",
        "gym",
        "gymnasium",
        "haiku",
        "jax",
        "keras",
        "librosa",
        "lightning",
        "matplotlib",
        "networkx",
        "numpy",
        "optax",
        "pandas",
        "pytorch_lightning",
        "scipy",
        "skimage",
        "sklearn",
        "tensorflow",
        "torch",
        "torchaudio",
        "torchmetrics",
        "torchtext",
        "torchvision",
        "transformers",
        "yaml",
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
    for path in ["cupy.foo", "jaxlib.foo"] {
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
