//! A small set of interned names: built once, asked often.

use ustr::Ustr;

/// Sorted by address, so that a look-up reads no string; its order is never shown.
#[derive(Clone, Debug, Default)]
pub struct NameSet(Box<[Ustr]>);

fn address(name: &Ustr) -> usize {
    name.as_char_ptr() as usize
}

impl NameSet {
    pub fn contains(&self, name: Ustr) -> bool {
        self.0.binary_search_by_key(&address(&name), address).is_ok()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = Ustr> + '_ {
        self.0.iter().copied()
    }

    /// In alphabetical order, the same in every run.
    #[cfg(test)]
    pub fn to_sorted(&self) -> Vec<Ustr> {
        let mut names = self.0.to_vec();
        names.sort_unstable_by(|a, b| a.as_str().cmp(b.as_str()));
        names
    }
}

impl FromIterator<Ustr> for NameSet {
    fn from_iter<I: IntoIterator<Item = Ustr>>(names: I) -> Self {
        Vec::from_iter(names).into()
    }
}

impl From<Vec<Ustr>> for NameSet {
    fn from(mut names: Vec<Ustr>) -> Self {
        names.sort_unstable_by_key(address);
        names.dedup();
        NameSet(names.into_boxed_slice())
    }
}
