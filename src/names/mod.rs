//! (stand-in until the real module is merged)
use crate::report::FileId;
use crate::syntax::Tree;
pub struct Module { pub file: FileId, pub tree: Tree }
pub struct Project {}
impl Project {
    pub fn module(&self, _id: FileId) -> &Module { loop {} }
}
