//! «Did you mean»: the nearest of the known names, when it is near enough to be meant.

/// The known name that `given` most likely stands for.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given_lower = given.to_lowercase().replace('_', "-");
    let allowed = (given_lower.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&given_lower, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// `; did you mean …?` to end a message with, or nothing.
pub fn did_you_mean<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, known).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_near_names_are_suggested() {
        let known = ["missing-zero-grad", "retained-graph"];
        assert_eq!(nearest("missing-zerograd", known), Some("missing-zero-grad"));
        assert_eq!(nearest("missing_zero_grad", known), Some("missing-zero-grad"));
        assert_eq!(nearest("unused-import", known), None);
        assert_eq!(did_you_mean("retained-graf", known), "; did you mean `retained-graph`?");
    }
}
