"""Who may read what in a wiki, in the plainest way: sets, and not a line of the product.

    may read =  may use the product, or is anonymous where anonymous people may
                AND  may view the space
                AND  for every restricted one of itself and what it stands under: is named there, himself or his group

After Atlassian's "Page restrictions" and "Inherited page restrictions"; what belongs to a page (attachment,
comment, reply) has the page's rights. What the company's data policy keeps from apps, and what is no current content,
nobody gets from us.
"""

from __future__ import annotations

from tests.doubles.confluence.wiki import LEAVES, Content, Person, Space, Wiki


def groups_of(wiki: Wiki, account: str) -> set[str]:
    """Ids of the groups that somebody is in, directly or through groups in groups."""
    found = {each.id for each in wiki.groups.values() if account in each.members and not each.gone}
    while True:
        more = {each.id for each in wiki.groups.values() if each.includes & found and not each.gone} - found
        if not more:
            return found
        found |= more


def may_use(wiki: Wiki, person: Person) -> bool:
    """Whether the account can open the product: active, a person, with a licence or as a guest."""
    return is_somebody(person) and (person.licensed or person.guest)


def is_somebody(person: Person) -> bool:
    """Whether there is a person behind the account who can come at all."""
    return person.active and person.kind == "atlassian"


def is_super(wiki: Wiki, person: Person) -> bool:
    """On Data Center, members of one named group see everything."""
    return wiki.edition == "datacenter" and wiki.super_group in groups_of(wiki, person.account)


def may_view_space(wiki: Wiki, person: Person, space: Space) -> bool:
    """Whether a grant or a role of the space meets the person."""
    if space.gone:
        return False
    if is_super(wiki, person):
        return True
    classes = access_classes(wiki, person)
    groups = groups_of(wiki, person.account)

    def met(kind: str, name: str) -> bool:
        match kind.casefold().replace("_", "-"):
            case "user":
                return name == person.account
            case "group":
                return name in groups
            case "access-class":
                return name in classes
            case _:
                return False

    by_grant = any(
        (each.operation, each.target) == ("read", "space") and met(each.kind, each.id) for each in space.grants
    )
    by_role = any(
        met(each.kind, each.id)
        for each in space.assigned
        if each.role in wiki.roles and "read/space" in wiki.roles[each.role].permissions
    )
    match wiki.roles_mode:
        case "PRE_ROLES":
            return by_grant
        case "ROLES":
            return by_role
        case _:
            return by_grant or by_role


def access_classes(wiki: Wiki, person: Person) -> set[str]:
    """The classes that somebody who can open the product is in."""
    classes = {"authenticated-users"}
    if wiki.anonymous_on or wiki.edition == "cloud":
        # Guests of Cloud read what is open to anonymous people even where the site lets no anonymous people in.
        classes.add("anonymous-users")
    if person.licensed and not person.guest:
        classes.add("all-licensed-users")
        if person.admin:
            classes.add("all-product-admins")
    return classes


def is_anonymous(space: Space, wiki: Wiki) -> bool:
    """Whether the space is open to people whom nobody knows."""
    given = {each.id for each in space.grants if (each.operation, each.target) == ("read", "space")}
    assigned = {
        each.id
        for each in space.assigned
        if each.role in wiki.roles and "read/space" in wiki.roles[each.role].permissions
    }
    counting = {"PRE_ROLES": given, "ROLES": assigned}.get(wiki.roles_mode, given | assigned)
    return not space.gone and "anonymous-users" in counting


def restricted(content: Content) -> bool:
    """Whether only some may view it."""
    return bool(content.read)


def host(wiki: Wiki, content: Content) -> Content:
    """What the content belongs to: itself, or for what has no rights of its own, the page it hangs on."""
    while content.kind in LEAVES and content.parent in wiki.content:
        content = wiki.content[content.parent]
    return content


def may_view(wiki: Wiki, person: Person, content: Content) -> bool:
    """Whether the vendor shows it to the person, whatever its status but gone."""
    page = host(wiki, content)
    if "deleted" in (page.status, content.status) or not is_somebody(person):
        return False
    standing = [page] if page.kind == "blogpost" else [page, *wiki.chain(page)]
    if not may_use(wiki, person):
        # Without a licence he is one of the anonymous people: grants and restrictions that name him do not count.
        return wiki.anonymous_on and is_anonymous(wiki.spaces[page.space], wiki) and not any(map(restricted, standing))
    if not may_view_space(wiki, person, wiki.spaces[page.space]):
        return False
    if is_super(wiki, person):
        return True
    groups = groups_of(wiki, person.account)
    return all(person.account in each.read.users or groups & each.read.groups for each in standing if each.read)


def indexable(wiki: Wiki, content: Content) -> bool:
    """Whether it is something that answers may come from: current text in a current space that apps may see."""
    page = host(wiki, content)
    space = wiki.spaces[page.space]
    return (
        content.status == page.status == "current"
        and space.status == "current"
        and not space.gone
        and not space.blocked
        and content.kind in ("page", "blogpost", "attachment", "comment")
    )


def can_read(wiki: Wiki, account: str, key: str) -> bool:
    """Whether answers for this account may come from this content now."""
    person, content = wiki.people[account], wiki.content[key]
    return indexable(wiki, content) and may_view(wiki, person, content)


def readable(wiki: Wiki, account: str) -> set[str]:
    """Everything that answers for this account may come from now."""
    return {key for key in wiki.content if can_read(wiki, account, key)}


def reachable(wiki: Wiki, crawler: str) -> set[str]:
    """What an account that reads for us can bring in at all: nothing else is ever found, for anybody."""
    return readable(wiki, crawler)
