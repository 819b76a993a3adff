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
        "jax",
        "keras",
        "lightning",
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
    assert_eq!(known("tensorflow.keras.layers.Dense").path, "keras.layers.Dense");
    assert!(matches!(ask("torch.Tensor.unsqueeze_"), Answer::Known(_)));
}

#[test]
fn what_never_was_is_missing_from_what_is_known_whole() {
    let missing = Answer::Missing { holder: "tensorflow.test".into(), name: "is_built_with_cudnn".into() };
    assert_eq!(ask("tensorflow.test.is_built_with_cudnn"), missing);
    assert_eq!(
        ask("torch.nn.L2Loss.forward"),
        Answer::Missing { holder: "torch.nn".into(), name: "L2Loss".into() }
    );
}

#[test]
fn what_nobody_listed_may_be_there() {
    for path in
        ["numpy.foo", "torch.ops.mine.op", "torch._foo", "torch.cuda.is_available.foo", "torch.classes.x"]
    {
        assert_eq!(ask(path), Answer::Unknown, "{path}");
    }
}

#[test]
fn releases_tell_what_came_and_went() {
    let index = of("torch").unwrap().1;
    let release = |at: u8| index.versions[at as usize];
    let lstsq = known("torch.lstsq").span;
    assert_eq!((lstsq.first, release(lstsq.last).starts_with("1.")), (0, true));
    assert!(release(known("torch.compile").span.first).starts_with("2.0"));
}

#[test]
fn keywords_are_those_of_the_signature() {
    let keywords = known("torch.utils.data.DataLoader").keywords.unwrap();
    assert!(keywords.iter().any(|(name, _)| *name == "num_workers"));
    assert!(!keywords.iter().any(|(name, _)| *name == "num_worker"));
    assert_eq!(known("torch.nn.Module").keywords, None);
}

#[test]
fn the_texts_say_where_they_are_wrong() {
    assert_eq!(text::parse("torch m\n").unwrap_err(), "line 1: expected `versions …`");
    assert!(text::parse("versions 1 2\na x\n").unwrap_err().starts_with("line 2: not understood"));
    assert!(text::parse("versions 1 2\n..a m\n").unwrap_err().starts_with("line 2: too deep"));
    assert!(text::parse("versions 1 2\na m @1-2\n").unwrap_err().starts_with("line 2: not understood"));
}

#[test]
fn what_replaces_a_name_is_told() {
    assert_eq!(instead("torch.lstsq"), Some("torch.linalg.lstsq"));
    assert_eq!(instead("torch.add"), None);
}
