"""The keys of the configuration as `trainlint.schema.json` has them, for the page about the configuration."""

import json
import re


def with_schema(page, schema_text):
    """The page with what the schema knows besides: types, and the names of cards. Fails where the two have other keys."""
    schema = json.loads(schema_text)
    keys = dict(listed(schema))
    told = set(re.findall(r"^\| `([a-z-]+)`", page, re.M))
    if told != {key.split(".")[-1] for key in keys}:
        raise SystemExit(f"docs/configuration.md and trainlint.schema.json differ in {', '.join(sorted(told ^ {key.split('.')[-1] for key in keys}))}")
    rows = "\n".join(f"| `{key}` | {kind(value, schema)} |" for key, value in sorted(keys.items()))
    cards = ", ".join(f"`{name}`" for name in schema["properties"]["target"]["properties"]["gpu"]["anyOf"][0]["enum"])
    return f"{page}\n## Types\n\nFrom [trainlint.schema.json](../trainlint.schema.json).\n\n| key | type |\n| --- | --- |\n{rows}\n\n## Cards\n\n{cards}; case and separators do not matter.\n"


def listed(schema, prefix=""):
    for name, value in schema["properties"].items():
        yield prefix + name, value
        if "properties" in value:
            yield from listed(value, f"{prefix}{name}.")


def kind(value, schema):
    """A type in words."""
    for part in value.get("allOf", []):
        value = part
    if "$ref" in value:
        name = value["$ref"].split("/")[-1]
        return {"globs": "list of globs", "selectors": "list of rules and groups"}.get(name, name)
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "anyOf" in value:
        return "name of a card"
    if value["type"] == "array":
        return f"list of {value['items']['type']}s"
    if value["type"] == "object":
        inner = value.get("additionalProperties")
        return "table" if not inner else f"table of {kind(inner, schema) if '$ref' in inner else 'values'}"
    return {"boolean": "`true` or `false`", "integer": "number"}.get(value["type"], value["type"])
