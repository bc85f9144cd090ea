"""Role definitions of a site as SharePoint ships them: names are for people and are translated, bits decide."""

from __future__ import annotations

from dataclasses import dataclass

VIEW_LIST_ITEMS = 0x1
MANAGE_LISTS = 0x800


@dataclass(frozen=True, slots=True)
class Role:
    """One role definition."""

    id: int
    name: str
    kind: int  # RoleTypeKind: 1 is the limited access that SharePoint itself hands out
    low: int
    high: int
    hidden: bool = False


FULL = Role(1073741829, "Full Control", 5, 4294967295, 2147483647)
DESIGN = Role(1073741828, "Design", 4, 1012866047, 432)
EDIT = Role(1073741830, "Edit", 6, 1011030767, 432)
CONTRIBUTE = Role(1073741827, "Contribute", 3, 1011028719, 432)
READ = Role(1073741826, "Read", 2, 138612833, 176)
VIEW_ONLY = Role(1073741924, "Restricted View", 7, 138612801, 176)
RESTRICTED_READ = Role(1073741832, "Restricted Read", 8, 138608641, 160)  # views without older versions
LIMITED = Role(1073741825, "Limited Access", 1, 134287360, 48, hidden=True)
WEB_LIMITED = Role(1073741833, "Web-Only Limited Access", 9, 134283264, 16, hidden=True)
PAGES_ONLY = Role(1073741940, "Read", 0, 0x20000, 0)  # made by an admin, and named to mislead
ROLES = (FULL, DESIGN, EDIT, CONTRIBUTE, READ, VIEW_ONLY, RESTRICTED_READ, LIMITED, WEB_LIMITED, PAGES_ONLY)

TITLES = {
    "en": {},
    "de": {"Limited Access": "Beschränkter Zugriff", "Read": "Lesen", "Full Control": "Vollzugriff"},
    # As a careless eye reads it: the translation holds the word that a test by name would look for.
    "ru": {"Limited Access": "Ограниченный доступ (Read)", "Read": "Чтение", "Full Control": "Полный доступ"},
}
