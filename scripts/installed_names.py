"""Writes what importing a package really shows: the other half of `scripts/api_index.py`, which never imports.

    python scripts/installed_names.py package [module ...] > rules/index/installed/package-release.txt

Run it in an environment made for it alone. A line is a name (dots for how deep it lies under what stands
above it), `m`, `c`, `f` or `v` for module, class, function or anything else, and of what can be called the
names that may be given by keyword, with `**` where any may. A test holds the index against the lists.
"""

import importlib
import inspect
import sys
import types
import warnings

DEEPEST = 6


def parameters(what):
    try:
        signature = inspect.signature(what)
    except Exception:  # Compiled, or with a signature that is not one.
        return ""
    kinds = [one.kind for one in signature.parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return " (**)"
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return " (%s)" % " ".join(one.name for one in signature.parameters.values() if one.kind in named)


def only_raises(what):
    """Whether a function is a tombstone: it is gone, and says so."""
    code = getattr(what, "__code__", None)
    return code is not None and code.co_names == ("RuntimeError",) and len(code.co_code) < 80


def shown(what):
    """The public names of a module or class, with what they are."""
    for name in dir(what):
        if name.startswith("_"):
            continue
        try:
            yield name, getattr(what, name)
        except Exception:  # It is listed, and needs what is not installed.
            yield name, None


class Shown:
    def __init__(self, package):
        self.package, self.lines, self.walked = package, {}, set()

    def module(self, path, module):
        self.lines[path] = "m"
        if id(module) in self.walked or path.count(".") >= DEEPEST:
            return
        self.walked.add(id(module))
        inner = []
        for name, what in shown(module):
            below = path + "." + name
            if isinstance(what, types.ModuleType):
                self.lines.setdefault(below, "m")
                own = getattr(what, "__name__", "").split(".")[0].split("_core")[0]
                if own in (self.package, "keras", "tf_keras") or type(what) is not types.ModuleType:
                    inner.append((below, what))
            elif isinstance(what, type):
                self.klass(below, what)
            elif callable(what) and not only_raises(what):
                self.lines[below] = "f" + parameters(what)
            elif not callable(what):
                self.lines[below] = "v"
        for below, what in inner:
            self.module(below, what)

    def klass(self, path, what):
        self.lines[path] = "c" + parameters(what)
        own = (getattr(what, "__module__", "") or "").split(".")[0]
        if own != self.package or id(what) in self.walked:
            return
        self.walked.add(id(what))
        for name, member in shown(what):
            if only_raises(member):
                continue
            is_function = inspect.isroutine(member)
            # A method's own object is bound when it is called.
            params = parameters(member) if is_function else ""
            params = params.replace("(self ", "(").replace("(self)", "()")
            self.lines[path + "." + name] = ("f" if is_function else "v") + params


def main():
    warnings.simplefilter("ignore")
    package, also = sys.argv[1], sys.argv[2:]
    out = Shown(package)
    root = importlib.import_module(package)
    for name in also:
        importlib.import_module(name)
    out.module(package, root)
    for name, module in sorted(sys.modules.items()):
        is_own = name.startswith(package + ".") and not any(part.startswith("_") for part in name.split("."))
        if is_own and isinstance(module, types.ModuleType):
            out.module(name, module)
    print("# %s %s" % (package, getattr(root, "__version__", "?")))
    above = []
    for path in sorted(out.lines, key=lambda path: path.split(".")):
        parts = path.split(".")
        for depth, part in enumerate(parts[:-1]):
            if above[: depth + 1] != parts[: depth + 1]:
                print("." * depth + part + " v")
                above = parts[: depth + 1]
        print("." * (len(parts) - 1) + parts[-1] + " " + out.lines[path])
        above = parts


main()
