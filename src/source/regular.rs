//! Files that may be read: those that lie on a disk. A pipe waits for a writer for ever, a device has no end, and the
//! file systems of the kernel call their messages regular files that only they know the end of.

use super::ReadError;
use std::fs::{self, File};
use std::path::Path;

/// Opens a regular file, and says how large it seems. Looks before it opens, since opening a device may do something,
/// and again at what it has opened, since the path may lead elsewhere by then.
pub(super) fn open(path: &Path) -> Result<(File, u64), ReadError> {
    let opening = |error| ReadError::opening(path, error);
    is_regular(&fs::metadata(path).map_err(opening)?)?;
    let file = unwaiting().open(path).map_err(opening)?;
    let found = file.metadata().map_err(ReadError::io)?;
    is_regular(&found)?;
    if is_of_the_kernel(&file) {
        return Err(ReadError::NotAFile { what: "a file of the kernel" });
    }
    Ok((file, found.len()))
}

fn is_regular(found: &fs::Metadata) -> Result<(), ReadError> {
    if found.is_file() { Ok(()) } else { Err(ReadError::irregular(found.file_type())) }
}

/// Opening a pipe so does not wait for its other end.
fn unwaiting() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits();
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags as i32);
    }
    options
}

/// `/proc`, `/sys` and what is mounted there: reading may wait, end nowhere or take something away.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_of_the_kernel(file: &File) -> bool {
    /// proc, sysfs, debugfs, tracefs, securityfs, cgroup, cgroup2, bpf, configfs, pstore, efivarfs, binfmt_misc,
    /// selinuxfs, smackfs and rpc_pipefs, as `statfs(2)` lists them.
    const KINDS: [u32; 15] = [
        0x9fa0,
        0x6265_6572,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0x0027_e0eb,
        0x6367_7270,
        0xcafe_4a11,
        0x6265_6570,
        0x6165_676c,
        0xde5e_81e4,
        0x4249_4e4d,
        0xf97c_ff8c,
        0x4341_5d53,
        0x6759_6969,
    ];
    // All of them have 32 bits, whatever the word of the system.
    rustix::fs::fstatfs(file).is_ok_and(|found| KINDS.contains(&(found.f_type as u32)))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_of_the_kernel(_file: &File) -> bool {
    false
}
