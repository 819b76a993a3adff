//! How a closed vocabulary of the tables is declared: one line says a word's name, its operands, what it means
//! and what classes it is in, and everything else is made of that.

use super::slots::Slot;

/// A word of a closed list: its operands, in the order in which they are written, and what it means.
#[derive(Debug)]
pub struct Word {
    pub name: &'static str,
    pub required: &'static [Slot],
    pub optional: &'static [Slot],
    /// Any number of these may follow.
    pub further: Option<Slot>,
    pub meaning: &'static str,
}

impl Word {
    /// The most operands that it takes, if there is a limit.
    pub fn most(&self) -> Option<usize> {
        self.further.is_none().then_some(self.required.len() + self.optional.len())
    }

    /// The index of an operand among those that are written.
    pub fn position(&self, slot: Slot) -> Option<usize> {
        self.required.iter().chain(self.optional).chain(&self.further).position(|known| *known == slot)
    }

    /// The word as it is written, `reduce x [dim keepdim]`.
    pub fn usage(&self) -> String {
        let names = |slots: &[Slot]| slots.iter().map(|slot| slot.name()).collect::<Vec<_>>().join(" ");
        let required = self.required.iter().map(|slot| slot.name());
        let optional = (!self.optional.is_empty()).then(|| format!("[{}]", names(self.optional)));
        let further = self.further.map(|slot| format!("[{} …]", slot.name()));
        let parts = required.map(str::to_owned).chain(optional).chain(further);
        std::iter::once(self.name.to_owned()).chain(parts).collect::<Vec<_>>().join(" ")
    }
}

/// A closed list of words.
pub trait Vocabulary: Copy + Eq + 'static {
    /// What one of its words is called in messages.
    const KIND: &'static str;
    const ALL: &'static [Self];

    fn word(self) -> &'static Word;

    fn name(self) -> &'static str {
        self.word().name
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.name() == name)
    }
}

/// Declares a vocabulary as an enum. A line is `Variant "name" (Required [Optional]; Further) [classes] "meaning";`,
/// and each class becomes a predicate.
macro_rules! vocabulary {
    (
        $(#[$doc:meta])*
        $Words:ident $kind:literal
        classes { $($(#[$note:meta])* $class:ident,)* }
        $($Variant:ident $name:literal
            ($($required:ident)* $([$($optional:ident)*])? $(; $further:ident)?)
            $([$($is:ident)*])? $meaning:literal;)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $Words { $(#[doc = $meaning] $Variant,)* }

        impl $crate::apis::words::Vocabulary for $Words {
            const KIND: &'static str = $kind;
            const ALL: &'static [$Words] = &[$($Words::$Variant,)*];

            fn word(self) -> &'static $crate::apis::words::Word {
                use $crate::apis::slots::Slot;
                match self {
                    $($Words::$Variant => const {
                        &$crate::apis::words::Word {
                            name: $name,
                            required: &[$(Slot::$required,)*],
                            optional: &[$($(Slot::$optional,)*)?],
                            further: vocabulary!(@further $($further)?),
                            meaning: $meaning,
                        }
                    },)*
                }
            }
        }

        vocabulary! { @classes $Words [$($(#[$note])* $class)*] [$($Variant [$($($is)*)?])*] }
    };
    (@further) => { None };
    (@further $further:ident) => { Some(Slot::$further) };
    (@classes $Words:ident [] [$($line:tt)*]) => {};
    (@classes $Words:ident [$($(#[$note:meta])* $class:ident)*] [$($Variant:ident [$($is:ident)*])*]) => {
        const _: () = {
            #[derive(Clone, Copy)]
            struct Classes { $($class: bool,)* }

            const NONE: Classes = Classes { $($class: false,)* };

            impl $Words {
                fn classes(self) -> Classes {
                    match self { $($Words::$Variant => Classes { $($is: true,)* ..NONE },)* }
                }

                $($(#[$note])* pub fn $class(self) -> bool { self.classes().$class })*
            }
        };
    };
}

pub(crate) use vocabulary;
