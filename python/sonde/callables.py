"""The Python functions below methods, properties, partials, classes, modules and whatever wraps them."""

import functools
import types

_DEFAULT_POLICIES = {"func": "siblings", "class": "siblings", "module": "exact"}
_POLICIES = ("exact", "children", "descendants", "siblings", "none")
_HOLDERS = (functools.partial, functools.partialmethod, functools.cached_property)
_BUILT_IN = (
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
    types.MethodDescriptorType,
    types.MethodWrapperType,
    types.WrapperDescriptorType,
)


def functions_of(thing):
    """The functions that run when the object is used, each once; none for what is written in C.

    Wrappers that say what they wrap (``functools.wraps``, ``lru_cache``) stand for it. A class stands for
    what it defines itself. What is not callable is a TypeError.
    """
    return list(dict.fromkeys(_functions(thing, set())))


def _functions(thing, seen):
    if id(thing) in seen:
        return []
    seen.add(id(thing))
    if isinstance(thing, property):
        parts = [thing.fget, thing.fset, thing.fdel]
    elif isinstance(thing, (types.MethodType, classmethod, staticmethod)):
        parts = [thing.__func__]
    elif isinstance(thing, _HOLDERS):
        parts = [thing.func]
    elif isinstance(thing, type):
        return _members(thing, seen)
    elif callable(getattr(thing, "__wrapped__", None)):
        parts = [thing.__wrapped__]
    elif isinstance(thing, types.FunctionType):
        return [thing]
    elif not callable(thing):
        raise TypeError(f"{thing!r} is no function, nor does it hold one")
    else:
        parts = [] if isinstance(thing, _BUILT_IN) else [type(thing).__call__]
    return [function for part in parts if part is not None for function in _functions(part, seen)]


def _members(kind, seen):
    """Those of a class's own methods and inner classes."""
    found = []
    for member in vars(kind).values():
        try:
            if not isinstance(member, type):
                found += [one for one in _functions(member, seen) if _is_near("children", kind, one)]
            elif _is_near("children", kind, member):
                found += _functions(member, seen)
        except TypeError:
            continue
    return found


def _name_of(thing):
    return thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None) or ""


def _lies_in(name, place):
    return name == place or name.startswith(place + ".")


def _is_near(policy, space, thing):
    """Whether a function, class or module that was found in a class or module belongs to it."""
    if policy == "none":
        return True
    if isinstance(space, type):
        return _is_near_class(policy, space, thing)
    name, home = _name_of(thing), space.__name__
    parent = home.rpartition(".")[0]
    if isinstance(thing, types.ModuleType):
        if policy == "children":
            return name.rpartition(".")[0] == home
        return name.startswith((parent if policy == "siblings" else home) + ".") and bool(
            policy == "descendants" or parent
        )
    if policy in ("exact", "children"):
        return name == home
    return _lies_in(name, home) or (policy == "siblings" and bool(parent) and _lies_in(name, parent))


def _is_near_class(policy, space, thing):
    if isinstance(thing, types.ModuleType) or thing.__module__ != space.__module__:
        return False
    if policy == "siblings":
        return True
    if policy == "descendants":
        return thing.__qualname__.startswith(space.__qualname__ + ".")
    return thing.__qualname__.rpartition(".")[0] == space.__qualname__


def policies_of(given):
    """What scoping_policy means, as a dict for functions, classes and modules."""
    if given is None:
        given = _DEFAULT_POLICIES
    elif not hasattr(given, "keys"):
        given = dict.fromkeys(_DEFAULT_POLICIES, given)
    policies = {kind: str(getattr(given[kind], "value", given[kind])).lower() for kind in _DEFAULT_POLICIES}
    for policy in policies.values():
        if policy not in _POLICIES:
            raise ValueError(f"scoping_policy: {policy!r} is none of " + ", ".join(_POLICIES))
    return policies


def members_of(space, policies, seen=None):
    """What a class or module has, as far as the policies go: pairs of a member and its functions.

    A class or module among them comes with all functions below it.
    """
    seen = {id(space)} if seen is None else seen
    for member in list(vars(space).values()):
        if id(member) in seen:
            continue
        seen.add(id(member))
        if isinstance(member, (type, types.ModuleType)):
            kind = "class" if isinstance(member, type) else "module"
            if policies[kind] == "exact" or not _is_near(policies[kind], space, member):
                continue
            functions = [one for _, below in members_of(member, policies, seen) for one in below]
        else:
            try:
                functions = [one for one in functions_of(member) if _is_near(policies["func"], space, one)]
            except TypeError:
                continue
        if functions:
            yield member, functions
