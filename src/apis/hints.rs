//! What names, texts and uses hint at: words of the tables that are looked for before anything is known.

use super::lookup::Apis;
use super::memo;
use super::model::Role;
use ustr::Ustr;

impl Apis {
    /// Whether a text orders samples by itself.
    pub fn shuffles(&self, text: &str) -> bool {
        self.shared.shuffling.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether a function or a class computes a loss, by its name.
    pub fn computes_loss(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.shared.losses.iter().any(|word| name.contains(word.as_str()))
    }

    /// Whether a parameter of a loss is given the labels.
    pub fn takes_labels(&self, parameter: Ustr) -> bool {
        self.shared.labels.contains(&parameter)
    }

    /// Operations with a pole, by the names that functions mention.
    pub fn pole_words(&self) -> &[Ustr] {
        &self.shared.poles
    }

    /// Classes of losses that say what they expect, by the names that functions mention.
    pub fn criteria_words(&self) -> &[Ustr] {
        &self.shared.criteria
    }

    /// Layers with weights, by the names that functions mention.
    pub fn learning_words(&self) -> &[Ustr] {
        &self.shared.learning
    }

    /// Whether an argument of a model's call says which weights of an earlier training it gets.
    pub fn loads_weights(&self, argument: Ustr) -> bool {
        self.shared.pretrained.contains(&argument)
    }

    /// Whether a text is that of a test.
    pub fn tests(&self, text: &str) -> bool {
        self.shared.testing.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether a module is in a package that holds tests, by its dotted name.
    pub fn is_suite(&self, module: &str) -> bool {
        let (package, inner) = module.split_once('.').unwrap_or((module, ""));
        !inner.is_empty() && self.shared.suites.iter().any(|suite| package.starts_with(suite.as_str()))
    }

    /// Whether a text gives each process a part of its own.
    pub fn mentions_rank(&self, text: &str) -> bool {
        self.shared.sharing.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether a text says that a model may be spread over several GPUs, and brings its inputs there itself.
    pub fn scatters(&self, text: &str) -> bool {
        self.shared.scattering.iter().any(|word| text.contains(word.as_str()))
    }

    /// Whether a part of a batch is called as the samples are that a model is given.
    pub fn is_input(&self, name: &str) -> bool {
        self.shared.inputs.iter().any(|word| word == name)
    }

    /// Whether a text draws random numbers.
    pub fn draws(&self, text: &str) -> bool {
        self.shared.drawing.iter().any(|word| text.contains(word.as_str()))
    }

    /// Names of functions that make tensors.
    pub fn making_words(&self) -> &[Ustr] {
        &self.shared.making
    }

    /// What a name stands for that a file uses and never binds, as in an excerpt without its imports.
    pub fn usual(&self, name: Ustr) -> Option<Ustr> {
        self.shared.usual.iter().find(|(known, _)| *known == name).map(|(_, meant)| *meant)
    }

    /// What a fix writes for a purpose, in full; the last table that says it counts.
    pub fn repair(&self, purpose: &str) -> Option<&'static str> {
        let of = |(known, _): &&(Ustr, Ustr)| known.as_str() == purpose;
        self.shared.repairs.iter().rev().find(of).map(|(_, name)| name.as_str())
    }

    /// Whether what this gives is random numbers.
    pub fn is_random(&self, name: &str) -> bool {
        self.shared.random.iter().any(|pattern| fits(pattern, name))
    }

    /// What something is, from the attributes that are used of it; nothing when they disagree.
    pub fn role_by_use(&self, attributes: &[Ustr], called: bool) -> Option<Role> {
        let count = |used: &[Ustr]| attributes.iter().filter(|attribute| used.contains(attribute)).count();
        let mut best = None;
        let mut most = 0;
        for (role, used) in &self.shared.roles {
            let matches = count(used);
            if matches > most {
                (best, most) = (Some(*role), matches);
            } else if matches == most && best != Some(*role) {
                best = None;
            }
        }
        // Modules clear gradients as well, and they are called.
        let module = self.shared.roles.iter().find(|(role, _)| *role == Role::Module);
        match best {
            Some(Role::Optimizer) | None if most > 0 => {
                let is_module = called || module.is_some_and(|(_, used)| count(used) == most);
                if is_module { Some(Role::Module) } else { best }
            }
            None if called => self.role_of_called(attributes),
            // What goes back through a loss and is called may be an engine, and is no tensor.
            Some(Role::Tensor) if called => None,
            other => other,
        }
    }

    /// Whatever has a state can be restored; of that, models are called.
    fn role_of_called(&self, attributes: &[Ustr]) -> Option<Role> {
        let has = |used: &[Ustr]| attributes.iter().any(|attribute| used.contains(attribute));
        self.shared.called.iter().find(|(_, used)| has(used)).map(|(role, _)| *role)
    }

    /// What something may be, from its name alone.
    pub fn role_by_name(&self, name: Ustr) -> Option<Role> {
        memo::named(self.id, name, || {
            let mut names = self.shared.names.iter();
            let exact = names.clone().find(|(role, _)| self.is_named(*role, &name));
            let pattern = || names.find(|(_, patterns)| patterns.iter().any(|p| fits(p, &name)));
            exact.or_else(pattern).map(|(role, _)| *role)
        })
    }

    /// Whether this is a usual name of what has a role, and not only like one.
    pub fn is_named(&self, role: Role, name: &str) -> bool {
        self.shared
            .names
            .iter()
            .any(|(known, patterns)| *known == role && patterns.iter().any(|p| *p == name))
    }
}

/// `optim*` and `*_optimizer`.
fn fits(pattern: &str, name: &str) -> bool {
    if let Some(start) = pattern.strip_suffix('*') {
        name.starts_with(start)
    } else if let Some(end) = pattern.strip_prefix('*') {
        name.ends_with(end)
    } else {
        pattern == name
    }
}
