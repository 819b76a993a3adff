//! What autograd would find behind a tensor: what a backward reaches, how old it is, and of which parts it is.

use super::object::{ObjId, ObjSet};
use super::parts::Parts;
use std::rc::Rc;

/// Of a graph of more modules than this, nothing is known.
const MOST_LEAVES: usize = 1024;

/// The same of so many parts, and of so many places where it was carried over an iteration.
const MOST_PARTS: usize = 2048;

/// What autograd would find behind a tensor.
#[derive(Clone, Debug, Default)]
pub enum Graph {
    /// Nothing: `detach`, `no_grad`, data.
    #[default]
    None,
    Unknown,
    Live(Rc<Nodes>),
}

#[derive(Clone, Debug)]
pub struct Nodes {
    /// Modules and parameters that a backward would reach.
    pub leaves: ObjSet,
    /// Something else than `leaves` may be reached, too.
    pub others: bool,
    /// The pass of a loop in which the oldest part was made.
    pub oldest: u32,
    /// Where the graph was carried over an iteration, if it was.
    pub carried: Rc<[u32]>,
    /// On another way to this point there is no graph, or none that is known.
    pub maybe: bool,
    /// The others are only tensors that asked for gradients themselves.
    pub own: bool,
    /// What calls of layers recorded of it.
    pub parts: Parts,
    /// It hangs on parameters directly, too, through no layer.
    pub bare: bool,
}

impl Nodes {
    fn is_large(&self) -> bool {
        self.parts.len().max(self.carried.len()) > MOST_PARTS
    }

    /// The module or parameter that a backward would reach, where it is one.
    pub fn only_leaf(&self) -> Option<ObjId> {
        self.leaves.iter().next().filter(|_| self.leaves.len() == 1)
    }
}

impl Graph {
    /// There is a graph on every way.
    pub fn is_live(&self) -> bool {
        matches!(self, Graph::Live(nodes) if !nodes.maybe)
    }

    /// Nobody knows what it leads to: a backward pass through it has shown that it is there.
    pub fn is_shown(&self) -> bool {
        matches!(self, Graph::Live(nodes) if nodes.leaves.is_empty() && nodes.others && !nodes.own)
    }

    /// Whether nobody knows what it leads to, shown to be there or not.
    pub fn is_unclear(&self) -> bool {
        matches!(self, Graph::Unknown) || self.is_shown()
    }

    /// Where the graph was carried over an iteration.
    pub fn carried(&self) -> &[u32] {
        match self {
            Graph::Live(nodes) => &nodes.carried,
            _ => &[],
        }
    }

    pub fn leaf(object: ObjId, epoch: u32) -> Graph {
        Graph::Live(Rc::new(Nodes {
            leaves: ObjSet::one(object),
            others: false,
            oldest: epoch,
            carried: Rc::from([]),
            maybe: false,
            own: false,
            parts: Parts::default(),
            bare: epoch == u32::MAX,
        }))
    }

    /// A graph that a backward pass has shown to be there.
    pub fn of_others(epoch: u32) -> Graph {
        Graph::Live(Rc::new(Nodes {
            leaves: ObjSet::default(),
            others: true,
            oldest: epoch,
            carried: Rc::from([]),
            maybe: false,
            own: false,
            parts: Parts::default(),
            bare: false,
        }))
    }

    /// What a layer records in one of its calls.
    pub fn recorded(object: ObjId, epoch: u32, part: u32) -> Graph {
        match Graph::leaf(object, epoch) {
            Graph::Live(nodes) => Graph::Live(Rc::new(Nodes { parts: Parts::one(part), ..(*nodes).clone() })),
            other => other,
        }
    }

    /// The modules and parameters that a backward would surely reach.
    pub fn leaves(&self) -> ObjSet {
        match self {
            Graph::Live(nodes) => nodes.leaves.clone(),
            _ => ObjSet::default(),
        }
    }

    pub fn parts(&self) -> Parts {
        match self {
            Graph::Live(nodes) => nodes.parts.clone(),
            _ => Parts::default(),
        }
    }

    /// The same graph with other parts.
    pub fn with_parts(&self, parts: Parts, bare: bool) -> Graph {
        match self {
            Graph::Live(nodes) => Graph::Live(Rc::new(Nodes { parts, bare, ..(**nodes).clone() })),
            other => other.clone(),
        }
    }

    /// The same where another way leads here without it.
    pub fn unsure(&self) -> Graph {
        self.with_parts(self.parts().unsure(), self.is_bare())
    }

    pub fn is_bare(&self) -> bool {
        matches!(self, Graph::Live(nodes) if nodes.bare)
    }

    /// The graph of a result of both.
    pub fn union(&self, other: &Graph) -> Graph {
        match (self, other) {
            (Graph::None, graph) | (graph, Graph::None) => graph.clone(),
            (Graph::Live(a), Graph::Live(b)) if Rc::ptr_eq(a, b) => self.clone(),
            (Graph::Live(a), Graph::Live(b)) if a.leaves.len() + b.leaves.len() > MOST_LEAVES => {
                if a.leaves == b.leaves { self.clone() } else { Graph::Unknown }
            }
            (Graph::Live(a), Graph::Live(b)) if a.is_large() || b.is_large() => Graph::Unknown,
            (Graph::Live(a), Graph::Live(b)) => Graph::Live(Rc::new(Nodes {
                leaves: a.leaves.union(&b.leaves),
                others: a.others || b.others,
                oldest: a.oldest.min(b.oldest),
                carried: union_sorted(&a.carried, &b.carried),
                maybe: a.maybe && b.maybe,
                own: a.own && b.own,
                parts: a.parts.union(&b.parts),
                bare: a.bare || b.bare,
            })),
            (Graph::Live(live), Graph::Unknown) | (Graph::Unknown, Graph::Live(live)) => {
                Graph::Live(Rc::new(Nodes { others: true, own: false, ..(**live).clone() }))
            }
            (Graph::Unknown, Graph::Unknown) => Graph::Unknown,
        }
    }

    /// The graph of a value that is one or the other.
    pub fn join(&self, other: &Graph) -> Graph {
        match (self, other) {
            (Graph::None, Graph::None) => Graph::None,
            (Graph::Live(a), Graph::Live(b)) => match self.union(other) {
                Graph::Live(nodes) if nodes.maybe != (a.maybe || b.maybe) || a.parts != b.parts => {
                    let (maybe, parts) = (a.maybe || b.maybe, a.parts.join(&b.parts));
                    Graph::Live(Rc::new(Nodes { maybe, parts, ..(*nodes).clone() }))
                }
                both => both,
            },
            (Graph::Live(live), _) | (_, Graph::Live(live)) => {
                let parts = live.parts.unsure();
                Graph::Live(Rc::new(Nodes {
                    others: true,
                    maybe: true,
                    own: false,
                    parts,
                    ..(**live).clone()
                }))
            }
            _ => Graph::Unknown,
        }
    }
}

fn union_sorted(a: &Rc<[u32]>, b: &Rc<[u32]>) -> Rc<[u32]> {
    if b.is_empty() {
        return a.clone();
    }
    if a.is_empty() {
        return b.clone();
    }
    let mut all: Vec<u32> = a.iter().chain(b.iter()).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}
