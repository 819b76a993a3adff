//! The questions that are asked of the tables: by name, along bases, by use.
//! Knows no framework; the project's own tables come packed from the build script.

use std::borrow::Cow;
use std::sync::OnceLock;

use ustr::{Ustr, ustr};

use super::error::{ApiError, Input};
use super::memo::{self, Place, Question};
use super::model::{Api, ClassSpec, Draws, Handed, ModeDependence, Order, Role};
use super::needs::Need;
use super::pack::{Found, Pack, pack};
use super::parse::parse;
use super::shared::Shared;
use super::{Transfer, Verb};

/// Stands in a trigger between a text and the one that a file must hold less often.
const MORE_OFTEN: &str = " more often than ";
/// Bases are followed this far.
const DEPTH: usize = 16;

/// The tables in force: a user's before the project's own.
#[derive(Debug)]
pub struct Apis {
    /// No other tables of this process have it.
    pub(super) id: u32,
    packs: Vec<Pack>,
    pub(super) shared: Shared,
}

impl Apis {
    /// The project's own tables.
    pub fn builtin() -> &'static Apis {
        static BUILTIN: OnceLock<Apis> = OnceLock::new();
        BUILTIN.get_or_init(Apis::own)
    }

    fn own() -> Apis {
        let pack = Pack::new(Cow::Borrowed(include_bytes!(concat!(env!("OUT_DIR"), "/apis.pack"))));
        let shared = pack.shared();
        Apis { id: memo::new_id(), packs: vec![pack], shared }
    }

    /// The project's own tables under those of a user, each a file's name and its text. Where two
    /// speak of the same name the later holds.
    pub fn load(extra: &[(&str, &str)]) -> Result<Apis, ApiError> {
        let mut apis = Apis::own();
        for &(file, text) in extra {
            let input = Input { file, text };
            let table = parse(input)?;
            let bytes = pack(&table.entries, &table.shared)
                .map_err(|error| input.error(0, format!("the table is too large: {error}")))?;
            apis.id = memo::new_id();
            apis.packs.insert(0, Pack::new(Cow::Owned(bytes)));
            apis.shared.extend(table.shared);
            if let Some(&(name, at)) = table.mentioned.iter().find(|(name, _)| apis.get(*name).is_none()) {
                let names: Vec<&str> = table.entries.iter().map(|entry| entry.api.name.as_str()).collect();
                return Err(input.unknown(at, "name", &name, names));
            }
        }
        Ok(apis)
    }

    /// The entry of a qualified name, under whichever of its names; `torch.optim.Adam.step` is inherited.
    pub fn get(&self, name: Ustr) -> Option<&Api> {
        let place = memo::remembered(self.id, Question::Name(name), || {
            self.named(name).or_else(|| {
                let (class, method) = name.rsplit_once('.')?;
                let class = self.entry(self.find(&[class])?)?;
                class.class.as_ref()?;
                self.method_place(class.name, ustr(method))
            })
        });
        self.entry(place?)
    }

    /// The entry of a class.
    pub fn class(&self, name: Ustr) -> Option<&Api> {
        self.entry(self.named(name)?).filter(|api| api.class.is_some())
    }

    /// A method or property of a class, its own or that of a base.
    pub fn method(&self, class: Ustr, method: Ustr) -> Option<&Api> {
        self.entry(self.method_place(class, method)?)
    }

    /// A method or property that whatever has a role has.
    pub fn method_of(&self, role: Role, name: Ustr) -> Option<&Api> {
        self.method(self.class_of(role)?, name)
    }

    /// Whether a method of this name has an effect, where what has a role has it.
    pub fn method_does(&self, role: Role, name: Ustr, verb: Verb) -> bool {
        self.method_of(role, name).is_some_and(|api| api.does(verb))
    }

    /// Whether a method of this name goes back through the graph of a tensor.
    pub fn walks_back(&self, method: Ustr) -> bool {
        self.method_does(Role::Tensor, method, Verb::Backward)
    }

    /// Whether what a tensor says under this name are no numbers of it: its size, its dtype, where it is.
    pub fn is_form(&self, name: Ustr) -> bool {
        self.method_of(Role::Tensor, name).and_then(Api::transfer).is_some_and(Transfer::asks)
    }

    /// What `package.name` is called in the tables; the name as it is where they do not know it.
    pub fn member(&self, package: Ustr, name: Ustr) -> Ustr {
        memo::joined(self.id, package, name, || {
            let dotted = Ustr::from(&format!("{package}.{name}"));
            self.get(dotted).map_or(dotted, |api| api.name)
        })
    }

    /// What the tables know as a name of a package. Remembers nothing: a script may ask for any name of any package.
    pub fn exported(&self, package: Ustr, name: Ustr) -> Option<Ustr> {
        Some(self.entry(self.find(&[package.as_str(), name.as_str()])?)?.name)
    }

    fn method_place(&self, class: Ustr, method: Ustr) -> Option<Place> {
        memo::remembered(self.id, Question::Method(class, method), || {
            self.along(class, &mut |name| self.exact(&[name.as_str(), method.as_str()]))
        })
    }

    fn named(&self, name: Ustr) -> Option<Place> {
        memo::remembered(self.id, Question::Entry(name), || self.find(&[name.as_str()]))
    }

    fn entry(&self, place: Place) -> Option<&Api> {
        self.packs.get(place.pack as usize)?.entry(place.entry as usize)
    }

    /// Whether a class is another or has it among its bases.
    pub fn is_a(&self, class: Ustr, ancestor: Ustr) -> bool {
        let ancestor = self.canonical(ancestor);
        self.along(class, &mut |name| (name == ancestor).then_some(())).is_some()
    }

    /// The role of a class, its own or the first that a base has.
    pub fn role(&self, class: Ustr) -> Option<Role> {
        memo::role(self.id, class, || self.along(class, &mut |name| self.class(name)?.class.as_ref()?.role))
    }

    /// What calling an instance of a class does: the entry of the first of the class and its bases that says so.
    pub fn instance_call(&self, class: Ustr) -> Option<&Api> {
        self.along(class, &mut |name| {
            let api = self.class(name)?;
            let says = api.gives.is_some() || api.class.as_ref()?.call.is_some();
            says.then_some(api)
        })
    }

    /// In which order a sampler or dataset gives samples, by the first of the class and its bases that says so.
    pub fn order(&self, class: Ustr) -> Option<Order> {
        self.along(class, &mut |name| self.class(name)?.class.as_ref()?.order)
    }

    /// When the mode of an instance matters, by the first of the class and its bases that says so.
    pub fn mode_dependent(&self, class: Ustr) -> Option<ModeDependence> {
        self.along(class, &mut |name| self.class(name)?.class.as_ref()?.mode_dependent)
    }

    /// Whether the instances of a class do something else in training, however they are made.
    pub fn depends_on_mode(&self, class: Ustr) -> bool {
        self.mode_dependent(class) == Some(ModeDependence::Always)
    }

    /// When an instance draws what it does to a sample, by the first of the class and its bases that says so.
    pub fn draws_in_calls(&self, class: Ustr) -> Option<Draws> {
        self.along(class, &mut |name| self.class(name)?.class.as_ref()?.draws)
    }

    /// The parameter of a layer's call that says whether it trains, where nothing else does.
    pub fn told(&self, class: Ustr) -> Option<Ustr> {
        self.along(class, &mut |name| self.class(name)?.class.as_ref()?.told)
    }

    /// Whether calls of the instances of a class compute with all that they are given, on one device.
    pub fn joins_inputs(&self, class: Ustr) -> bool {
        let joins =
            |name| self.class(name)?.needs.iter().any(|need| need.verb == Need::Together).then_some(());
        self.along(class, &mut |name| joins(name)).is_some()
    }

    /// Parts of the training protocol that a class or one of its bases does by itself.
    pub fn owns(&self, class: Ustr) -> &[Ustr] {
        let found = self.along(class, &mut |name| {
            let owns = &self.class(name)?.class.as_ref()?.owns;
            (!owns.is_empty()).then_some(&**owns)
        });
        found.unwrap_or_default()
    }

    /// Whether the framework calls a method of a subclass for each batch of each epoch.
    pub fn runs_each_batch(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.each_batch)
    }

    /// Whether the framework calls a method of a subclass when each epoch ends.
    pub fn ends_epochs(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.epoch_end)
    }

    /// Whether the framework calls a method of a subclass without arguments.
    pub fn calls_bare(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.bare_hooks)
    }

    /// The methods that the framework calls on an instance of a subclass before any other, in their order.
    pub fn called_first(&self, class: Ustr) -> &[Ustr] {
        let found = self.along(class, &mut |name| {
            let first = &self.class(name)?.class.as_ref()?.called_first;
            (!first.is_empty()).then_some(&**first)
        });
        found.unwrap_or_default()
    }

    /// Whether the framework trains on the batches that a method of a subclass gives.
    pub fn trains_on(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.trains_on)
    }

    /// Whether the framework scores a model on the batches that a method of a subclass gives.
    pub fn scores_on(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.scores_on)
    }

    /// The methods of a subclass that the framework calls by their names, as far as any list names them.
    pub fn hooks(&self, class: Ustr) -> Vec<Ustr> {
        let mut hooks = Vec::new();
        self.along(class, &mut |name| -> Option<()> {
            let spec = self.class(name)?.class.as_ref()?;
            let loops = [&spec.walks, &spec.each_batch, &spec.epoch_end, &spec.bare_hooks];
            let lists = loops.into_iter().chain([&spec.called_first, &spec.trains_on, &spec.scores_on]);
            hooks.extend(lists.flat_map(|list| list.iter().copied()));
            None
        });
        hooks
    }

    /// How the framework calls a method of a subclass, where it hands more to it than it did in older releases.
    pub fn handed(&self, class: Ustr, method: Ustr) -> Option<&Handed> {
        let of =
            |name| self.class(name)?.class.as_ref()?.handed.iter().find(|handed| handed.method == method);
        self.along(class, &mut |name| of(name))
    }

    /// Whether the framework walks what a method of a subclass gives.
    pub fn walks(&self, class: Ustr, method: Ustr) -> bool {
        self.lists(class, method, |spec| &spec.walks)
    }

    /// Whether an attribute of a subclass says, by being false, that it goes back through its losses itself.
    pub fn walks_while(&self, class: Ustr, attribute: Ustr) -> bool {
        self.lists(class, attribute, |spec| &spec.walks_while)
    }

    /// Whether a class, or one that it inherits from, has a method in one of its lists.
    fn lists(&self, class: Ustr, method: Ustr, list: impl Fn(&ClassSpec) -> &[Ustr]) -> bool {
        let listed = |name| list(self.class(name)?.class.as_ref()?).contains(&method).then_some(());
        self.along(class, &mut |name| listed(name)).is_some()
    }

    /// Whether calls into this package leave optimizers, gradients and modules alone.
    pub fn is_pure(&self, package: Ustr) -> bool {
        self.shared.pure.contains(&package)
    }

    /// Whether something is of a package whose instances only record what they are told.
    pub fn is_tracker(&self, name: Ustr) -> bool {
        self.shared.trackers.iter().any(|package| {
            name.strip_prefix(package.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }

    /// Packages whose import makes a file worth reading.
    pub fn frameworks(&self) -> &[Ustr] {
        &self.shared.frameworks
    }

    /// Whether this is a known name or the beginning of one (`torch.nn`).
    pub fn prefix_known(&self, name: &str) -> bool {
        self.rewritten(&[name], &mut |parts| {
            self.packs.iter().any(|pack| pack.find(parts).is_some()).then_some(())
        })
        .is_some()
    }

    /// The classes that stand for a role when nothing more is known, the most common first.
    pub fn classes_of(&self, role: Role) -> &[Ustr] {
        self.shared.classes.iter().find(|(known, _)| *known == role).map_or(&[], |(_, classes)| classes)
    }

    pub fn class_of(&self, role: Role) -> Option<Ustr> {
        self.classes_of(role).first().copied()
    }

    /// Whether something lies in the package of modules, or below it: the functions beside them, and classes that the
    /// tables do not know.
    pub fn is_beside_modules(&self, name: Ustr) -> bool {
        let package = || self.class_of(Role::Module)?.as_str().rsplit_once('.').map(|(package, _)| package);
        let rest = package().and_then(|package| name.as_str().strip_prefix(package));
        rest.is_some_and(|rest| rest.starts_with('.'))
    }

    /// Whether a function is of a library whose values are arrays and no tensors.
    pub fn is_of_arrays(&self, api: &Api) -> bool {
        let package = |name: Ustr| name.as_str().split('.').next();
        self.classes_of(Role::Array).iter().any(|class| package(*class) == package(api.name))
    }

    /// Whether a method of this name says that its receiver is a tensor.
    pub fn is_tensor_method(&self, method: Ustr) -> bool {
        self.shared.tensor_methods.contains(&method)
    }

    /// Functions that make tensors on the CPU, if nobody says where, by their last names.
    pub fn makers(&self) -> &[Ustr] {
        &self.shared.makers
    }

    /// What the training protocol is about: a function that mentions none of these does not matter.
    pub fn protocol_words(&self) -> &[Ustr] {
        &self.shared.protocol
    }

    /// Texts of which a file must hold one to be worth rehearsing: those of the tables, and the names
    /// that a user's own tables speak of.
    pub fn triggers(&self) -> Vec<&str> {
        let own = self.packs.iter().rev().skip(1).flat_map(|pack| {
            (0..pack.len()).filter_map(|index| pack.entry(index)?.name.as_str().rsplit('.').next())
        });
        let alone =
            self.shared.trigger.iter().map(ustr::Ustr::as_str).filter(|text| !text.contains(MORE_OFTEN));
        alone.chain(own).collect()
    }

    /// Pairs of a text and another: a file that holds more of the one is worth rehearsing, too.
    pub fn lacking(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.shared.trigger.iter().filter_map(|text| text.as_str().split_once(MORE_OFTEN))
    }

    /// Whether a decorator leaves its function as it is.
    pub fn is_transparent(&self, decorator: Ustr) -> bool {
        self.shared.transparent.contains(&decorator)
    }

    /// Whether a failure of a device is raised as this exception, or as one below it.
    pub fn is_failure(&self, exception: Ustr) -> bool {
        self.shared.failures.contains(&exception)
    }

    /// Whether a constant is NaN.
    pub fn is_nan(&self, constant: Ustr) -> bool {
        self.shared.nans.contains(&constant)
    }

    /// Whether the operations of a package bring their operands to one device by themselves.
    pub fn is_copying(&self, name: Ustr) -> bool {
        let package = name.split('.').next().unwrap_or(&name);
        self.shared.copying.iter().any(|known| known == package)
    }

    /// Whether the package is one that the tables speak of.
    pub fn is_framework(&self, name: Ustr) -> bool {
        let package = name.split('.').next().unwrap_or(&name);
        self.shared.packages.iter().any(|known| known == package)
    }

    /// What `from package import *` binds: names and what they stand for.
    pub fn members(&self, package: Ustr) -> Vec<(Ustr, Ustr)> {
        let mut all: Vec<(Ustr, Ustr)> = Vec::new();
        for pack in &self.packs {
            for name in pack.members(&package) {
                let dotted = Ustr::from(&format!("{package}.{name}"));
                all.push((Ustr::from(name), self.canonical(dotted)));
            }
        }
        all.sort_unstable_by_key(|(name, _)| name.as_str());
        all.dedup();
        all
    }

    /// The names of a class's methods and properties, its own and those of its bases.
    pub fn methods(&self, class: Ustr) -> Vec<Ustr> {
        let mut all = Vec::new();
        self.along(class, &mut |name| {
            all.extend(self.members(name).into_iter().map(|(method, _)| method));
            None::<()>
        });
        all
    }

    /// All entries, a user's first.
    pub fn entries(&self) -> impl Iterator<Item = &Api> {
        self.packs.iter().flat_map(|pack| (0..pack.len()).filter_map(|index| pack.entry(index)))
    }

    fn canonical(&self, name: Ustr) -> Ustr {
        self.named(name).and_then(|place| self.entry(place)).map_or(name, |api| api.name)
    }

    /// Asks of a class and then of its bases, depth first as declared.
    fn along<T>(&self, class: Ustr, ask: &mut dyn FnMut(Ustr) -> Option<T>) -> Option<T> {
        self.along_to(self.canonical(class), ask, DEPTH)
    }

    fn along_to<T>(&self, class: Ustr, ask: &mut dyn FnMut(Ustr) -> Option<T>, depth: usize) -> Option<T> {
        if let Some(answer) = ask(class) {
            return Some(answer);
        }
        let bases = &self.class(class)?.class.as_ref()?.is;
        if depth == 0 {
            return None;
        }
        bases.iter().find_map(|base| self.along_to(self.canonical(*base), ask, depth - 1))
    }

    fn find(&self, parts: &[&str]) -> Option<Place> {
        self.rewritten(parts, &mut |parts| self.exact(parts))
    }

    fn exact(&self, parts: &[&str]) -> Option<Place> {
        self.packs.iter().enumerate().find_map(|(number, pack)| match pack.find(parts)? {
            Found::Entry(index) => Some(Place { pack: number as u32, entry: index as u32 }),
            Found::Prefix => None,
        })
    }

    /// Asks with the name as it is, then under the other names of its package.
    fn rewritten<T>(&self, parts: &[&str], ask: &mut dyn FnMut(&[&str]) -> Option<T>) -> Option<T> {
        if let Some(answer) = ask(parts) {
            return Some(answer);
        }
        let (first, rest) = parts.split_first()?;
        self.shared.same.iter().find_map(|(alias, name)| {
            let after = strip(first, alias)?;
            let mut renamed = vec![name.as_str()];
            renamed.extend((!after.is_empty()).then_some(after));
            renamed.extend(rest);
            ask(&renamed)
        })
    }
}

/// What follows a module prefix; `torch.nn.modules.*` takes one more part with it.
fn strip<'n>(name: &'n str, alias: &str) -> Option<&'n str> {
    let (prefix, any) = match alias.strip_suffix(".*") {
        Some(prefix) => (prefix, true),
        None => (alias, false),
    };
    let after = name.strip_prefix(prefix)?;
    if after.is_empty() {
        return (!any).then_some("");
    }
    let after = after.strip_prefix('.')?;
    if any { after.split_once('.').map(|(_, rest)| rest) } else { Some(after) }
}
