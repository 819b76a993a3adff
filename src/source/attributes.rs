//! Extended attributes: lists of access rights, labels of security modules and notes of the user stay with a file that
//! is replaced.

use super::WriteError;
use std::fs::File;
use std::path::Path;

/// Gives a file the attributes of the one that it is to replace.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn keep(path: &Path, file: &File) -> Result<(), WriteError> {
    use rustix::fs::{XattrFlags, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fsetxattr};
    let old = super::regular::open(path).map_err(|error| std::io::Error::other(error.to_string()))?.0;
    // A file system without attributes has none to lose.
    let mut names = vec![0_u8; flistxattr_query(&old).unwrap_or_default()];
    let length = flistxattr(&old, &mut names[..]).unwrap_or_default();
    let value = |file: &File, name: &[u8]| {
        let mut value = vec![0_u8; fgetxattr_query(file, name).ok()?];
        let length = fgetxattr(file, name, &mut value[..]).ok()?;
        value.truncate(length);
        Some(value)
    };
    for name in
        names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty() && !is_made_anew(name))
    {
        // What may not be seen is not ours to keep, and what is there already need not be given.
        let Some(wanted) = value(&old, name).filter(|wanted| value(file, name).as_ref() != Some(wanted))
        else {
            continue;
        };
        let lost = |_| WriteError::Attribute(String::from_utf8_lossy(name).into_owned());
        fsetxattr(file, name, &wanted, XattrFlags::empty()).map_err(lost)?;
    }
    Ok(())
}

/// What the system says of the contents, and says anew when they change.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn is_made_anew(name: &[u8]) -> bool {
    [&b"security.ima"[..], b"security.evm", b"com.apple.provenance"].contains(&name)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn keep(_path: &Path, _file: &File) -> Result<(), WriteError> {
    Ok(())
}
