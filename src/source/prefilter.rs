//! A look at raw bytes, long before parsing: does any import name one of these packages?
//! A file for which this says no is not parsed, so it may err towards yes only.

use memchr::memmem;

/// True when an import names one of `packages` as its top package: `import x`, `from x.y import`, also
/// indented, after `;` or `:`, continued with a backslash, within the strings of a notebook, and as
/// `import_module("x")` or `__import__("x")`, which cost nothing more. Says yes to UTF-16, which it cannot read.
/// Imports in docstrings count, too: it does not know strings.
pub fn mentions_framework(bytes: &[u8], packages: &[&str]) -> bool {
    if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
        return true;
    }
    let wanted = |name: &[u8]| packages.iter().any(|package| package.as_bytes() == name);
    memmem::find_iter(bytes, b"import").any(|at| {
        let (before, after) = (&bytes[..at], &bytes[at + b"import".len()..]);
        match after.first() {
            Some(b'_') => called_with(after).is_some_and(wanted),
            Some(byte) if is_name(*byte) => false,
            None => false,
            Some(_) => imported_from(before)
                .map_or_else(|| begins_statement(before) && names_any(after, wanted), wanted),
        }
    })
}

/// The top package of `from x.y` when that is what stands before `import`.
fn imported_from(before: &[u8]) -> Option<&[u8]> {
    let module_end = trim_space_end(before);
    let module = module_end.len()
        - module_end.iter().rev().take_while(|byte| is_name(**byte) || **byte == b'.').count();
    let head = trim_space_end(&module_end[..module]);
    let name = &module_end[module..];
    // `from.x import` needs no space, but a relative import names no framework.
    if module_end.len() == before.len() || head.len() == module || name.is_empty() {
        return None;
    }
    let outer = head.strip_suffix(b"from")?;
    begins_statement(outer).then(|| leading_name(name))
}

/// True when an import may begin here: at the start of a line, of a JSON string or after `;` or `:`.
fn begins_statement(before: &[u8]) -> bool {
    match trim_space_end(before) {
        [] | [.., b'\n' | b'\r' | b';' | b':' | b'"' | b'\x0c'] => true,
        // The marks that are one character in Python and two in the strings of a notebook, and a
        // byte order mark.
        [.., b'\\', b'n' | b't' | b'r' | b'f'] | [b'\xEF', b'\xBB', b'\xBF'] => true,
        _ => false,
    }
}

/// Reads `a.b as c, d` after `import`.
fn names_any(after: &[u8], wanted: impl Fn(&[u8]) -> bool) -> bool {
    let mut rest = trim_space(after);
    if rest.len() == after.len() {
        return false;
    }
    loop {
        let name = leading_name(rest);
        if wanted(name) {
            return true;
        }
        let item = rest.iter().take_while(|byte| is_name(**byte) || b". \t".contains(byte)).count();
        let Some(next) = trim_space(&rest[item..]).strip_prefix(b",") else {
            return false;
        };
        rest = trim_space(next);
    }
}

/// The top package in `import_module("x.y"` or `__import__('x'`.
fn called_with(after: &[u8]) -> Option<&[u8]> {
    let rest = after.strip_prefix(b"_module").or_else(|| after.strip_prefix(b"__"))?;
    let rest = trim_space(trim_space(rest).strip_prefix(b"(")?);
    let rest = rest.strip_prefix(b"name=").unwrap_or(rest);
    let rest = rest.strip_prefix(b"\\").unwrap_or(rest);
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'"))?;
    Some(leading_name(rest))
}

fn leading_name(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().take_while(|byte| is_name(**byte)).count();
    &bytes[..length]
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Cuts spaces and continued line ends.
fn trim_space(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [b' ' | b'\t', rest @ ..] | [b'\\', b'\n', rest @ ..] | [b'\\', b'\r', b'\n', rest @ ..] => rest,
            _ => return bytes,
        };
    }
}

fn trim_space_end(mut bytes: &[u8]) -> &[u8] {
    loop {
        bytes = match bytes {
            [rest @ .., b' ' | b'\t'] | [rest @ .., b'\\', b'\n'] | [rest @ .., b'\\', b'\r', b'\n'] => rest,
            _ => return bytes,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGES: [&str; 3] = ["torch", "tensorflow", "jax"];

    fn mentions(text: &str) -> bool {
        mentions_framework(text.as_bytes(), &PACKAGES)
    }

    #[test]
    fn imports_are_seen_in_every_form() {
        for text in [
            "import torch",
            "\u{feff}import torch\n",
            "import torch.nn as nn\n",
            "import os, sys as s, torch\n",
            "import os.path as p , jax.numpy as jnp\n",
            "x = 1\nfrom torch import nn\n",
            "from torch.nn import functional as F\r\n",
            "from torch import(nn)\n",
            "from torch import*\n",
            "if x:\n\tfrom  torch  import nn\n",
            "a = 1; import torch\n",
            "try: import tensorflow as tf\nexcept: pass\n",
            "import os, \\\n    torch\n",
            "import os, \\\r\n    torch\n",
            "from torch \\\n    import nn\n",
            "x = 1\rimport torch\r",
            "\x0cimport torch",
            "t = importlib.import_module('torch')\n",
            "t = import_module( name=\"torch.nn\")\n",
            "t = __import__('torch')\n",
        ] {
            assert!(mentions(text), "{text:?}");
        }
    }

    #[test]
    fn notebooks_hide_imports_in_strings() {
        for text in [
            r#"{"source": ["import torch\n", "x"]}"#,
            r#"{"source": ["x\n", "  from torch import nn"]}"#,
            r#"{"source": "import os\nimport torch"}"#,
            r#"{"source": "if x:\n\timport torch\n"}"#,
            r#"{"source": ["importlib.import_module(\"torch\")"]}"#,
        ] {
            assert!(mentions(text), "{text}");
        }
    }

    #[test]
    fn the_rest_is_not_an_import_of_them() {
        for text in [
            "",
            "import",
            "import numpy as np\nfrom os import path\n",
            "import torchvision\nfrom torch_geometric import nn\nimport mytorch\n",
            "from .torch import nn\nfrom . import torch\n",
            "from mine import torch\n",
            "import numpy as torch\n",
            "# import torch\nx = 'torch'\n",
            "important torch\nreimport torch\n",
            "x = torch\n",
            "import_module('numpy')\nimport_module(torch)\n",
            "import os\ntorch\n",
        ] {
            assert!(!mentions(text), "{text:?}");
        }
        assert!(mentions_framework(b"\xFF\xFEi\0m\0p\0o\0r\0t\0", &PACKAGES));
        assert!(!mentions_framework(b"import torch", &[]));
    }
}
