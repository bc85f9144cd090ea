"""Histories of a wiki: numbers that a test draws become mutations that a wiki can have, one after the other.

Which content, person or space a number means depends on what there is, so that any list of numbers is a history, and
a shorter list is a shorter one. Each version of a text has a word of its own, and so has the title of a new page; most
pages show others by a macro, which names them by their titles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.doubles.confluence.wiki import (
    CONTAINERS,
    LEAVES,
    Assigned,
    Content,
    Grant,
    Wiki,
    anonymous,
    everyone,
    group,
    user,
)

Step = tuple[int, int, int]  # what is done, to which, with what
PEOPLE = ("ann", "bob", "gus", "una", "adm")
MACROS = ("include", "excerpt-include", "children", "pagetree")


def apply(wiki: Wiki, steps: Sequence[Step], told: Callable[[str], None] = lambda _words: None) -> list[str]:
    """Let these happen; what was done, in words. A step that can't be done does nothing."""
    said = []
    for what, which, how in steps:
        words = _STEPS[what % len(_STEPS)](wiki, which, how)
        if words:
            said.append(words)
            told(words)
    return said


def revive(wiki: Wiki) -> str:
    """Let everybody in again: a wiki that nobody may read any more has no history."""
    for space in wiki.spaces.values():
        if space.blocked:
            wiki.block(space.key, False)
        if not space.gone:
            reader = next((Assigned("USER", "robot", role) for role in wiki.roles), None)
            wiki.grant(space.key, user("robot"), group(wiki.everybody_group))
            wiki.assign(
                space.key, *([reader, replace(reader, kind="GROUP", id=wiki.everybody_group)] if reader else [])
            )
    for content in _tree(wiki, *CONTAINERS, "blogpost"):
        if content.read:
            wiki.restrict(content.id)
    for name in PEOPLE:
        if not wiki.people[name].active:
            wiki.reactivate(name)
    return "everybody is let in again"


def narrowing(step: Step) -> bool:
    """Whether a step can only take from people, never give."""
    return _STEPS[step[0] % len(_STEPS)] in (_restrict, _trash, _revoke, _leave, _deactivate, _delete_group, _purge)


def _pick(held: Sequence[Content], which: int) -> Content | None:
    return held[which % len(held)] if held else None


def _tree(wiki: Wiki, *kinds: str) -> list[Content]:
    wanted = kinds or tuple(CONTAINERS)
    alive = [each for each in wiki.content.values() if each.kind in wanted and each.status == "current"]
    return [each for each in alive if not wiki.spaces[each.space].gone]


def _readers(wiki: Wiki, how: int) -> tuple[set[str], set[str]]:
    """People and groups for a restriction, mostly with the account that reads for us among them."""
    users = {name for bit, name in enumerate(PEOPLE) if how >> bit & 1}
    if how % 5:
        users.add("robot")
    if how % 7 == 0:
        users.add("bot")
    groups = {each.id for bit, each in enumerate(wiki.groups.values()) if how >> (bit + 4) & 1}
    return users, groups


def _restrict(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, *CONTAINERS, "blogpost"), which)
    if content is None:
        return ""
    users, groups = _readers(wiki, how)
    if not users and not groups:
        return ""
    if content.read:  # narrower than before
        users, groups = users & content.read.users or {"bot"}, groups & content.read.groups
    wiki.restrict(content.id, users, groups)
    return f"restrict {content.kind} {content.title} to {sorted(users)} {sorted(groups)}"


def _share(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, *CONTAINERS, "blogpost"), which)
    if content is None:
        return ""
    users, groups = _readers(wiki, how)
    wiki.restrict(content.id, users, groups)
    return f"share {content.kind} {content.title} with {sorted(users)} {sorted(groups)}"


def _unrestrict(wiki: Wiki, which: int, how: int) -> str:
    content = _pick([each for each in _tree(wiki, *CONTAINERS, "blogpost") if each.read], which)
    if content is None:
        return ""
    wiki.restrict(content.id)
    return f"lift the restriction of {content.title}"


def _move(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki), which)
    if content is None:
        return ""
    if how % 4 == 0:
        spaces = [each for each in wiki.spaces.values() if not each.gone and each.status == "current"]
        target = spaces[how % len(spaces)]
        wiki.move(content.id, None, target.key)
        return f"move {content.title} to the top of {target.key}"
    below = {content.id, *(each.id for each in wiki.below(content.id))}
    parent = _pick([each for each in _tree(wiki) if each.id not in below], how)
    if parent is None:
        return ""
    wiki.move(content.id, parent.id)
    return f"move {content.title} under {parent.title}"


def _trash(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, "page", "blogpost", "attachment", "comment"), which)
    if content is None:
        return ""
    if content.kind in ("page", "folder") and any(True for _ in wiki.children(content.id)) and content.read:
        return ""  # what moves up would open: that is another step
    wiki.trash(content.id)
    return f"trash {content.kind} {content.title}"


def _trash_any(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki), which)
    if content is None:
        return ""
    wiki.trash(content.id)
    return f"trash {content.kind} {content.title}, and what was below moves up"


def _restore(wiki: Wiki, which: int, how: int) -> str:
    held = [
        each
        for each in wiki.content.values()
        if each.status == "trashed" and each.kind in CONTAINERS | {"blogpost"} and not wiki.spaces[each.space].gone
    ]
    content = _pick(held, which)
    if content is None:
        return ""
    wiki.restore(content.id)
    return f"restore {content.title}"


def _archive(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, "page"), which)
    if content is None:
        return ""
    wiki.archive(content.id)
    return f"archive {content.title}"


def _unarchive(wiki: Wiki, which: int, how: int) -> str:
    content = _pick([each for each in wiki.content.values() if each.status == "archived"], which)
    if content is None:
        return ""
    wiki.archive(content.id, archived=False)
    return f"bring back {content.title} from the archive"


def _purge(wiki: Wiki, which: int, how: int) -> str:
    content = _pick([each for each in _tree(wiki, "page") if not any(True for _ in wiki.children(each.id))], which)
    if content is None:
        return ""
    wiki.purge(content.id)
    return f"purge {content.title}"


def worded(wiki: Wiki) -> Wiki:
    """Give every text and every title of a wiki a word of its own."""
    for content in _tree(wiki, "page", "blogpost", "attachment", "comment"):
        title = content.title if content.kind in LEAVES else _title(wiki, content.title)
        text = {"bytes": _word(wiki).encode()} if content.kind == "attachment" else {"body": _body(wiki, len(wiki.log))}
        wiki.edit(content.id, title=title, **text)
    return wiki


def _word(wiki: Wiki) -> str:
    """What nothing else ever says, as long as a mutation follows."""
    return f"canary{len(wiki.log)}x"


def _title(wiki: Wiki, name: str) -> str:
    return f"{name} title{len(wiki.log)}x"


def _body(wiki: Wiki, how: int) -> str:
    """A text that shows another page in its middle, if there is one."""
    other = _pick(_tree(wiki, "page"), how)
    macro = "" if other is None else _shown(MACROS[how % len(MACROS)], other.title, wiki.spaces[other.space].key)
    return f"<p>{_word(wiki)} is said here.</p>{macro}<p>After it.</p>"


def _shown(macro: str, title: str, space: str) -> str:
    page = f'<ac:link><ri:page ri:content-title="{title}" ri:space-key="{space}" /></ac:link>'
    return (
        f'<ac:structured-macro ac:name="{macro}"><ac:parameter ac:name="">{page}</ac:parameter></ac:structured-macro>'
    )


def _edit(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, "page", "blogpost"), which)
    if content is None:
        return ""
    wiki.edit(content.id, body=_body(wiki, how))
    return f"edit {content.title}"


def _retitle(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki, "page", "blogpost"), which)
    if content is None:
        return ""
    old = content.title
    wiki.edit(content.id, title=_title(wiki, "Called"))
    return f"call {old} {content.title}"


def _new(wiki: Wiki, which: int, how: int) -> str:
    parent = _pick(_tree(wiki), which)
    if parent is None:
        return ""
    made = wiki.page(wiki.spaces[parent.space].key, _title(wiki, "New"), _body(wiki, how), parent=parent.id)
    if how % 3 == 0:
        wiki.restrict(made.id, *_readers(wiki, how))
    return f"new page {made.title} under {parent.title}"


def _attach(wiki: Wiki, which: int, how: int) -> str:
    parent = _pick(_tree(wiki, "page", "blogpost"), which)
    if parent is None:
        return ""
    wiki.attach(parent.id, f"file-{len(wiki.content)}.txt", _word(wiki).encode(), "text/plain")
    return f"attach a file to {parent.title}"


def _comment(wiki: Wiki, which: int, how: int) -> str:
    parent = _pick(_tree(wiki, "page", "blogpost", "comment"), which)
    if parent is None:
        return ""
    wiki.comment(parent.id, _body(wiki, how), inline=how % 2 == 0)
    return f"a remark under {parent.title}"


def _grants(wiki: Wiki) -> list[Grant]:
    classes = [anonymous()] if wiki.edition == "datacenter" else [everyone(), anonymous()]
    return [*classes, *[user(name) for name in PEOPLE], *[group(each.id) for each in wiki.groups.values()]]


def _grant(wiki: Wiki, which: int, how: int) -> str:
    space = list(wiki.spaces.values())[which % len(wiki.spaces)]
    given = _grants(wiki)[how % len(_grants(wiki))]
    if space.gone:
        return ""
    wiki.grant(space.key, given)
    return f"grant {given.kind} {given.id} on {space.key}"


def _revoke(wiki: Wiki, which: int, how: int) -> str:
    space = list(wiki.spaces.values())[which % len(wiki.spaces)]
    held = [each for each in space.grants if each.operation == "read"]
    if space.gone or not held:
        return ""
    taken = held[how % len(held)]
    wiki.revoke(space.key, taken)
    return f"revoke {taken.kind} {taken.id} on {space.key}"


def _open_groups(wiki: Wiki) -> list[str]:
    return [each.id for each in wiki.groups.values() if not each.gone and each.access is None]


def _join(wiki: Wiki, which: int, how: int) -> str:
    groups = _open_groups(wiki)
    if not groups:
        return ""
    wiki.join(PEOPLE[which % len(PEOPLE)], groups[how % len(groups)])
    return f"{PEOPLE[which % len(PEOPLE)]} joins {groups[how % len(groups)]}"


def _leave(wiki: Wiki, which: int, how: int) -> str:
    groups = _open_groups(wiki)
    if not groups:
        return ""
    wiki.leave(PEOPLE[which % len(PEOPLE)], groups[how % len(groups)])
    return f"{PEOPLE[which % len(PEOPLE)]} leaves {groups[how % len(groups)]}"


def _deactivate(wiki: Wiki, which: int, how: int) -> str:
    wiki.deactivate(PEOPLE[which % len(PEOPLE)])
    return f"deactivate {PEOPLE[which % len(PEOPLE)]}"


def _reactivate(wiki: Wiki, which: int, how: int) -> str:
    wiki.reactivate(PEOPLE[which % len(PEOPLE)])
    return f"reactivate {PEOPLE[which % len(PEOPLE)]}"


def _delete_group(wiki: Wiki, which: int, how: int) -> str:
    groups = [each for each in _open_groups(wiki) if "robot" not in wiki.groups[each].members]
    if not groups or how % 3:
        return ""
    wiki.delete_group(groups[which % len(groups)])
    return f"delete group {groups[which % len(groups)]}"


def _block(wiki: Wiki, which: int, how: int) -> str:
    space = list(wiki.spaces.values())[which % len(wiki.spaces)]
    if wiki.edition != "cloud" or how % 3:
        return ""
    wiki.block(space.key, not space.blocked)
    return f"apps are {'kept out of' if space.blocked else 'let into'} {space.key}"


def _edit_rights(wiki: Wiki, which: int, how: int) -> str:
    content = _pick(_tree(wiki), which)
    if content is None:
        return ""
    wiki.restrict_update(content.id, *_readers(wiki, how))
    return f"restrict editing of {content.title}"


_STEPS: tuple[Callable[[Wiki, int, int], str], ...] = (
    _restrict,
    _share,
    _unrestrict,
    _move,
    _move,
    _trash,
    _trash_any,
    _restore,
    _archive,
    _unarchive,
    _purge,
    _edit,
    _retitle,
    _new,
    _attach,
    _comment,
    _grant,
    _revoke,
    _join,
    _leave,
    _deactivate,
    _reactivate,
    _delete_group,
    _block,
    _edit_rights,
)
