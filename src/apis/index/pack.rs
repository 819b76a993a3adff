//! Packs the texts of the indexes; only the build script does.

use super::packed::Packed;
use super::text::{Kind, Line, More, Span, parse};
use std::collections::HashMap;
use std::error::Error;

/// Packs one package: its name, its releases and its names.
pub fn pack(name: &str, text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let (releases, mut lines) = parse(text)?;
    lines.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    let mut map = fst::MapBuilder::memory();
    // Nothing lies at zero, which stands for nothing.
    let mut more = vec![0];
    // Many functions take the same arguments.
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    for line in &lines {
        let at = match line.more {
            More::Nothing => 0,
            _ => {
                let bytes = postcard::to_stdvec(&line.more)?;
                *known.entry(bytes).or_insert_with_key(|bytes| {
                    more.extend(bytes);
                    more.len() - bytes.len()
                })
            }
        };
        map.insert(&line.path, number(line, at))?;
    }
    if more.len() >= 1 << 24 {
        return Err("more than the numbers can lead to".into());
    }
    let packed = Packed { name, releases, map: &map.into_inner()?, more: &more };
    Ok(postcard::to_stdvec(&packed)?)
}

fn number(line: &Line, more: usize) -> u64 {
    let kind = match line.kind {
        Kind::Module => 0,
        Kind::Class => 1,
        Kind::Function => 2,
        Kind::Value => 3,
    };
    // Where nothing is open, zeros: what is alike is packed once.
    let open = line.open.unwrap_or(Span { first: 0, last: 0 });
    kind | u64::from(line.open.is_some()) << 2
        | u64::from(line.span.first) << 8
        | u64::from(line.span.last) << 16
        | u64::from(open.first) << 24
        | u64::from(open.last) << 32
        | (more as u64) << 40
}
