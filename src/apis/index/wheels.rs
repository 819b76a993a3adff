//! Wheels that requirements name by their file: name and version are parts of it.

/// `https://download.pytorch.org/whl/cu80/torch-0.2.0.post3-cp35-cp35m-manylinux1_x86_64.whl`: name and version.
pub(super) fn told(line: &str) -> Option<(&str, &str)> {
    let line = line.split(" #").next().filter(|line| !line.trim_start().starts_with('#'))?;
    let end = line.find(".whl")?;
    let file = line[..end].rsplit(['/', '\\', ' ', '@']).next()?;
    let mut parts = file.split('-');
    let (name, version) = (parts.next()?, parts.next()?);
    let version = version.split(['+', '%']).next()?;
    // A wheel's name has three tags behind the version.
    (parts.count() >= 3 && version.starts_with(|c: char| c.is_ascii_digit())).then_some((name, version))
}
