use super::*;

fn at(text: &str) -> Release {
    Release::parse(text).unwrap()
}

#[test]
fn every_figure_is_a_release_and_has_a_source() {
    let rows = all();
    assert!(rows.build.len() > 50 && rows.code.len() > 10 && rows.toolkit.len() > 9);
    for build in &rows.build {
        assert!(!build.source.is_empty(), "{build:?}");
        let cuda: Vec<Release> = build.cuda().map(at).collect();
        assert!(!cuda.is_empty() && cuda.is_sorted(), "{build:?}");
        assert!(cuda.iter().all(|one| one.says(2) && driver_for(one).is_some()), "{build:?}");
        assert!(build.pypi.as_ref().is_none_or(|one| cuda.contains(&at(one))), "{build:?}");
        assert!(build.variants.iter().filter_map(|one| one.cudnn.as_ref()).all(|one| at(one).major() > 4));
    }
    for code in &rows.code {
        assert!(at(&code.since) <= at(&code.until) && !code.source.is_empty(), "{code:?}");
        for has in code.has.iter().chain(&code.ptx) {
            let card = at(has);
            let generation = generation(&card).unwrap_or_else(|| panic!("{has}: of no generation"));
            // A toolkit makes code for the cards that it knows.
            let knows = |cuda: &String| generation.is_known_to(&at(cuda)) || card.major() == 3;
            // jax says the oldest CUDA that it runs with, and is built with a newer one.
            let knows = |cuda: &String| knows(cuda) || code.package == "jax";
            assert!(code.cuda.iter().all(knows), "{has} of {code:?}");
        }
    }
    assert!(rows.toolkit.iter().all(|row| !row.source.is_empty() && at(&row.driver).major() > 300));
    assert!(rows.generation.iter().all(|row| !row.source.is_empty()));
}

#[test]
fn releases_compare_by_numbers() {
    assert!(at("2.10") > at("2.9") && at("2.5") == at("2.5.0") && at("525.60.13") > at("525.60"));
    assert_eq!(Release::of_tag("cu118").map(|one| one.to_string()), Some("11.8".into()));
    assert_eq!(Release::of_tag("cu92").map(|one| one.to_string()), Some("9.2".into()));
    assert_eq!((Release::of_tag("cpu"), Release::of_tag("cu"), Release::parse("cuda")), (None, None, None));
    assert_eq!((at("11.8").tag(), at("2.5.1+cu121").to_string()), ("cu118".into(), "2.5.1".into()));
}

#[test]
fn builds_are_found_by_release() {
    let cuda =
        |package, release: &str| build(package, &at(release)).map(|one| one.cuda().collect::<Vec<_>>());
    assert_eq!(cuda("torch", "2.5.1"), Some(vec!["11.8", "12.1", "12.4"]));
    assert_eq!(cuda("torch", "1.1.0"), Some(vec!["9.0", "10.0"]));
    assert_eq!(cuda("torch", "1.10.2"), Some(vec!["10.2", "11.1", "11.3"]));
    assert_eq!(cuda("tensorflow", "2.4.1"), Some(vec!["11.0"]));
    assert_eq!(cuda("jax", "0.4.25"), Some(vec!["11.8", "12.0"]));
    assert_eq!(cuda("jax", "0.4.26"), Some(vec!["12.1"]));
    assert_eq!(cuda("torch", "9.9"), None);
}

#[test]
fn a_build_between_two_that_are_known_may_be_there() {
    let build = build("torch", &at("2.9.0")).unwrap();
    assert!(build.may_have(&at("12.8")) && build.may_have(&at("12.9")));
    assert!(!build.may_have(&at("11.8")) && !build.may_have(&at("13.2")));
}

#[test]
fn code_runs_on_cards_of_its_major_version() {
    let runs = |release: &str, cuda: &str, card: &str| {
        code("torch", &at(release), &at(cuda)).map(|code| code.runs_on(&at(card)))
    };
    assert_eq!(runs("1.12.1", "10.2", "8.6"), Some(false));
    assert_eq!(runs("1.12.1", "10.2", "7.5"), Some(true));
    assert_eq!(runs("2.5.1", "12.4", "8.9"), Some(true));
    assert_eq!(runs("2.6.0", "12.4", "12.0"), Some(false));
    assert_eq!(runs("2.7.1", "12.8", "12.1"), Some(true));
    assert_eq!(runs("2.8.0", "12.8", "6.1"), Some(false));
    assert_eq!(runs("9.9", "12.8", "6.1"), None);
}

#[test]
fn drivers_and_generations_are_found() {
    assert_eq!(driver_for(&at("12.8")), Some("525.60.13"));
    assert_eq!(driver_for(&at("10.1")), Some("418.39"));
    let knows = |card: &str, cuda: &str| generation(&at(card)).unwrap().is_known_to(&at(cuda));
    assert!(knows("8.6", "11.0") && !knows("8.6", "10.2"));
    assert!(!knows("7.0", "13.0") && knows("7.5", "13.0"));
    assert!(!knows("12.0", "12.6") && knows("12.0", "12.8"));
}
