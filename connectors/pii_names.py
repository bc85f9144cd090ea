"""Which stretches of a sentence name a person: what a model found, checked and completed by given names and by cues.

A small model misses lists of first names and takes streets and products for people; forms of address, given names and
the words around a name tell more. No model here: entities come in from `connectors.pii`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib import resources

from connectors.records import Span

_CUED, _GIVEN, _MODEL = 0.8, 0.7, 0.85


@cache
def given_names() -> frozenset[str]:
    """Given names in lower case that are not ordinary words; where they come from is written in the file."""
    return frozenset(_names()["given"].split()) - _ORDINARY


@cache
def surnames() -> frozenset[str]:
    """Frequent surnames in lower case that are not ordinary words."""
    return frozenset(_names()["surnames"].split()) - _ORDINARY


@cache
def _known() -> frozenset[str]:
    return given_names() | surnames()


def _names() -> dict[str, str]:
    text = resources.files("connectors").joinpath("names.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def may_name(sentence: str, not_names: Collection[str] = ()) -> bool:
    """Whether a model should read the sentence: some capitalised word in it is not known for something else."""
    first = True
    for word in _WORD.findall(sentence):
        lowered = _bare(word)
        other = lowered in _ORDINARY or lowered in not_names or _code(word) or (first and _derived(lowered))
        if word[0].isupper() and not other:
            return True
        first = False
    return False


def _derived(word: str) -> bool:
    """A word at a sentence's start that its ending shows to be no name: Contractors, Booking, Approval."""
    return _ENDING.search(word) is not None and word not in given_names() and word not in surnames()


def people(sentence: str, entities: Iterable[tuple[int, int]], not_names: Collection[str] = ()) -> list[Span]:
    """Names of persons in a sentence. `entities`: the stretches that a model takes for persons."""
    addressed = [Span(start, end, "PERSON", _CUED) for start, end in _addressed(sentence)]
    found = [Span(start, end, "PERSON", _CUED) for start, end in _cued(sentence)]
    found += [Span(start, end, "PERSON", _GIVEN) for start, end in _with_known_name(sentence)]
    for start, end in entities:
        start, end = _completed(sentence, *_trimmed(sentence, start, end))
        if start < end and _plausible(sentence, start, end):
            found.append(Span(start, end, "PERSON", _MODEL))
    found = addressed + [span for span in found if not _placed(sentence, span) and not _named_thing(sentence, span)]
    taken = _stretches(sentence.lower(), not_names)
    return [span for span in found if not any(start <= span.start and span.end <= end for start, end in taken)]


def _stretches(lowered: str, not_names: Collection[str]) -> list[tuple[int, int]]:
    return [
        match.span()
        for name in not_names
        if name in lowered
        for match in re.finditer(rf"\b{re.escape(name)}\b", lowered)
    ]


def _addressed(sentence: str) -> Iterator[tuple[int, int]]:
    """Names behind a form of address, whatever else the words may mean: `Ms. Austin`, `Dr. White`."""
    for title in _FORM_OF_ADDRESS.finditer(sentence):
        if run := _run(sentence, title.end(), anything=True):
            yield run


def _cued(sentence: str) -> Iterator[tuple[int, int]]:
    for cue in _CUE.finditer(sentence):
        run = _run(sentence, cue.end())
        if run and not _starts_a_phrase(sentence, *run) and not (cue.group("i") and not _strong(sentence, *run)):
            yield run
    for cue in _WEAK_CUE.finditer(sentence):
        if (run := _run(sentence, cue.end())) and _strong(sentence, *run):
            yield run
    for cue in _LOWER_CUE.finditer(sentence):
        word = cue.group("name")
        if word.split()[0] not in _ORDINARY and (" " in word or word in given_names() or cue.group("sure")):
            yield cue.span("name")
    if (deed := _DEED.search(sentence)) and (run := _run(sentence, deed.start("name"))):
        words = sentence[run[0] : run[1]].split()
        if run[1] >= deed.end("name") and (len(words) > 1 or words[0].lower() in given_names() or deed.group("speech")):
            yield run


def _starts_a_phrase(sentence: str, start: int, end: int) -> bool:
    """Whether what follows a label is a word such as Reimbursable, or begins a phrase such as Up to the limit."""
    word = _bare(sentence[start:end])
    return word not in _known() and (_derived(word) or _PHRASE.match(sentence, end) is not None)


def _with_known_name(sentence: str) -> Iterator[tuple[int, int]]:
    for word in _WORD.finditer(sentence):
        known = word.group()[0].isupper() and _bare(word.group()) in given_names() and not word.group().isupper()
        if known and not _PLACE_WORD.search(sentence, max(0, word.start() - 8), word.start()):
            yield _trimmed(sentence, *(_run(sentence, word.start()) or word.span()))
    if alone := _ALONE.fullmatch(sentence):
        parts = [_bare(part) for part in alone.group("name").split()]
        if parts[0] in given_names() and (parts[-1] in surnames() or sentence[alone.start("name")].isupper()):
            yield alone.span("name")
    subject = _SUBJECT.match(sentence)
    if subject and _PRONOUN.search(sentence, subject.end()) and may_name(subject.group("name")):
        yield subject.span("name")
    lower = not any(character.isupper() for character in sentence[1:])
    for listed in _LOWER_LIST.finditer(sentence) if lower else _LIST.finditer(sentence):
        words = [word for word in _WORD.finditer(sentence, *listed.span()) if word.group() not in {"and", "or"}]
        bare = [_bare(word.group()) for word in words]
        familiar = [text in given_names() or (text in surnames() and not lower) for text in bare]
        if 2 * sum(familiar) >= len(words) and not any(_code(word.group()) for word in words):
            yield from (word.span() for word, text in zip(words, bare, strict=True) if text not in _ORDINARY)


def _run(sentence: str, start: int, anything: bool = False) -> tuple[int, int] | None:
    """The run of capitalised words, initials and particles from `start` on, if it can be a name."""
    end = None
    at = start
    for _ in range(6):
        word = _NEXT.match(sentence, at)
        if not word:
            break
        text = word.group("word")
        first = anything and end is None
        if (text[0].isupper() or first) and (first or _bare(text) not in _ORDINARY) and not _code(text):
            end = word.end("word")
        elif text not in _PARTICLES or end is None:
            break
        at = word.end()
        if word.group("gap") == "":
            break
    return _trimmed(sentence, start, end) if end else None


def _strong(sentence: str, start: int, end: int) -> bool:
    words = sentence[start:end].split()
    return _bare(words[0]) in given_names() or (len(words) > 1 and any(len(word.strip(".")) == 1 for word in words))


def _completed(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Take in the initials and surnames around a name that a model cut short."""
    if end > start and (run := _run(sentence, start)) and run[1] > end and run[0] == start:
        end = run[1]
    before = _BEFORE.search(sentence, max(0, start - 40), start)
    if before and _bare(before.group("word")) not in _ORDINARY:
        start = before.start("word")
    return start, end


def _trimmed(sentence: str, start: int, end: int) -> tuple[int, int]:
    """Without a form of address before, a possessive behind, space or punctuation around."""
    text = sentence[start:end].split("\n")[0]
    end = start + len(text)
    if title := _TITLE.match(text):
        start += title.end()
    text = sentence[start:end]
    text = re.sub(r"(?:['’]s?|[\s.,;:!?()\"“”*_\[\]|>-])+$", "", text) if not re.search(r"\b[A-Z]\.$", text) else text
    lead = len(text) - len(text.lstrip(" \t\"'“(*_[|>#-"))
    if (low := _LOWER_LEAD.match(text, lead)) and any(character.isupper() for character in text[low.end() :]):
        lead = low.end()
    return start + lead, max(start + lead, start + len(text))


def _plausible(sentence: str, start: int, end: int) -> bool:
    text = sentence[start:end]
    words = [_bare(word) for word in text.split()]
    if any(character.isdigit() or character in "@/\\#_=<>{}[]|" for character in text) or len(text) < 2:
        return False
    opens = not sentence[:start].strip(" \t*#>-_|•\"'“(") or sentence[:start].rstrip()[-1:] in ".!?:|"
    if (
        len(words) == 1
        and opens
        and (_derived(words[0]) or (sentence.lstrip()[:1] in "#*|-" and words[0] not in _known()))
    ):
        return False
    if any(_code(word) for word in text.split()):
        return False
    if len(words) == 1 and sentence[end : end + 1] == ":" and words[0] not in given_names():
        return False  # a label, such as Receipt: Always
    if all(word in _ORDINARY for word in words) or _code(text) or words[0] in _ORDINARY - given_names():
        return False
    return any(word[0].isupper() for word in text.split()) or words[0] in given_names()


def _named_thing(sentence: str, span: Span) -> bool:
    """Whether a surname goes on as the name of a company, a building or a product: Crane Safety, Baker Building."""
    word = _bare(sentence[span.start : span.end])
    return " " not in word and word not in given_names() and _THING.match(sentence, span.end) is not None


def _placed(sentence: str, span: Span) -> bool:
    """Whether the words around say that it is a street or a town."""
    text = sentence[span.start : span.end]
    if _STREET.search(text) or _STREET.match(sentence[span.end : span.end + 12].lstrip(" ,")):
        return True
    if span.score >= _MODEL - 0.2 and _bare(text.split()[0]) in given_names() and " " in text:
        return False
    if _NUMBER_BEFORE.search(sentence, max(0, span.start - 8), span.start):
        return True
    if _NUMBER_BEHIND.match(sentence, span.end):
        return True
    return (
        bool(_PLACE_BEFORE.search(sentence, max(0, span.start - 24), span.start))
        and _bare(text.split()[0]) not in given_names()
    )


def _bare(word: str) -> str:
    return re.sub(r"['’](?:s|m|ve|re|ll|d)$", "", word).strip(".,'’-").lower()


def _code(word: str) -> bool:
    """CO, HTTPS, GitHub, iOS: capitals inside that names do not have."""
    letters = [character for character in word if character.isalpha()]
    return len(letters) > 1 and (
        (word.isupper() and len(word) <= 5)
        or bool(re.search(r"[a-z][A-Z]", word) and not re.match(r"(?:Mc|Mac|De|Di|O)[A-Z]", word))
    )


_WORD = re.compile(r"[^\W\d_](?:[\w'’-]{0,40}[^\W_])?")
_NEXT = re.compile(r"(?P<word>[^\W\d_](?:[\w'’-]{0,40}[^\W_])?\.?)(?P<gap>[ ]?)")
_THING = re.compile(
    r" (?:Safety|Building|Hall|House|Tower|Campus|Center|Centre|Team|Desk|Portal|Program(?:me)?|Project|Services?"
    r"|Systems?|Solutions|Group|Partners|Holdings|Industries|Logistics|Insurance|Health|Bank|Foundation|Institute|University"
    r"|Hospital|Clinic|Award|Committee|Index|Method|Model|Report|Act|Rule)\b"
)
_PARTICLES = frozenset(
    "de da do dos del della di du van von der den ten ter bin ibn al el la le af av zu y e a".split()
)
_ENDING = re.compile(
    r"(?:ing|ed|tions?|ments?|ly|[eo]rs|ees|ies|ances?|ences?|ity|able|ful|als?|ives?|ures?|ages?|ches|shes|ses|ips?)$"
)
_LOWER_LEAD = re.compile(r"(?:[^\W\d_A-Z][\w'’-]* )+")
_PHRASE = re.compile(r" (?:to|of|the|an?|per|only|if|in|on|for|by|with|as|at|from|than)\b")
_PLACE_WORD = re.compile(
    r"\b(?:los|las|san|santa|saint|st\.?|new|port|fort|lake|mount|mt\.?|el|north|south|east|west) $", re.IGNORECASE
)
_ALONE = re.compile(r"[\s*#>-]{0,8}(?P<name>[^\W\d_][\w'’-]{1,30}(?: [^\W\d_]\.?)?(?: [\w'’-]{2,30}){1,3})[\s,*]{0,4}")
_SUBJECT = re.compile(r"(?P<name>[^\W\d_a-z][\w'’-]{2,30}) (?:is|was|has|had|will|can)\b")
_PRONOUN = re.compile(r"\b(?:he|she|him|her|his)\b")
_FORM_OF_ADDRESS = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Herr|Frau|Mme|Mlle|mr|mrs|ms|dr)\b\.? (?=[^\W\d_][\w'’-]{2})"
)
_BEFORE = re.compile(r"(?P<word>\b[^\W\d_a-z][\w'’-]{1,40}) (?:[A-Z]\.? ){0,2}$")
_TITLE = re.compile(
    r"(?:(?:mr|mrs|ms|miss|mx|dr|prof|professor|sir|dame|madam|herr|frau|mme|mlle|sr|sra|hon|rev|capt|sgt|lt|col"
    r"|gen)\b\.?\s+)+",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"(?:\b(?:[Nn]ames? (?:is|was|are)|(?:first|last|full|given|family|sur)[ -]?names?(?: is)?\s?[:?]"
    r"|[Nn]ame\s?:|[Nn]amed (?:him|her|them)"
    r"|was called|is called|(?:Dear|Hi|Hello|Hey)\b,?)\s{1,8}"
    r"|\b(?:Patient|Employee|Manager|Owner|Author|Contact|Supervisor|Requester|Approver|Attn|Assignee|Reporter"
    r"|Claimant|Insured|Signed|Name"
    r"|(?:[A-Z]\w{2,12} |\b)(?:[Bb]y)): {1,4}"
    r"|\b(?:[Ss]igned|[Aa]pproved|[Pp]repared|[Rr]eported|[Dd]irected|[Ww]ritten|[Rr]equested|[Ss]ubmitted) by:? {1,8}"
    r"|\b(?:kid|son|daughter|wife|husband|mother|father|brother|sister|uncle|aunt|friend|colleague|neighbou?r"
    r"|[Pp]roducer|[Aa]ctor|[Aa]ctress|[Ss]inger"
    r"|[Dd]irected [Bb]y:?)\s{1,8}|(?P<i>\bI(?:'m|’m| am) ))"
)
_WEAK_CUE = re.compile(
    r"\b(?:contact|ask|asked|call|e-?mail|thank|thanks|met|meet|told|said|says|with|to|of|by|from|for|is|manager"
    r"|boss|producer|actor|actress|singer|founder|features) ",
    re.IGNORECASE,
)
_LOWER_CUE = re.compile(
    r"(?:\b(?P<sure>my name is) |\bfollow up with |\bnamed (?:him"
    r"|her) )(?P<name>[^\W\d_A-Z][\w'’-]{1,30}(?: [^\W\d_A-Z][\w'’-]{0,30}){0,2}?)(?=[.,!?]| has | in | for |$)"
)
_DEED = re.compile(
    r"(?:^|[.!?,\"”] )(?P<name>[^\W\d_a-z][\w'’-]{1,40}(?: (?:[\w'’-]{1,40}|[A-Z]\.)){0,3}?) (?:(?P<speech>said"
    r"|says|shouted|replied|told|wrote)"
    r"|asked|flew|lives? (?:in|on|at)|works? (?:for|at|in)|joined|retired|resigned|(?:will be|was|is) (?:talking"
    r"|speaking|presenting))\b"
)
_LIST = re.compile(
    r"(?<![\w'’-])[^\W\d_a-z][\w'’-]{1,30}(?:, [^\W\d_a-z][\w'’-]{1,30}){0,12},?(?: (?:and|or"
    r"|&) [^\W\d_a-z][\w'’-]{1,30})?"
)
_LOWER_LIST = re.compile(
    r"\b[^\W\d_A-Z][\w'’-]{1,30}(?:, [^\W\d_A-Z][\w'’-]{1,30}){2,12},?(?: (?:and|or) [^\W\d_A-Z][\w'’-]{1,30})?"
)
_STREET = re.compile(
    r"\b(?:street|st|road|rd|ave|avenue|apt|suite|box|lane|drive|blvd|boulevard|strasse|straße|gade|vej|rue|via"
    r"|viale|vicolo|rua|calle|plaza|square"
    r"|building|bldg|tower|room|hall|airport|turnpike|str|court|way|terrace|incorporated|company|hospital"
    r"|university|college|school|inc|llc|ltd|gmbh|corp|corporation|group|foundation|act|plan|awards?)\b\.?",
    re.IGNORECASE,
)
_NUMBER_BEFORE = re.compile(r"\d[\w/]{0,3},? $")
_NUMBER_BEHIND = re.compile(r",? \d{1,5}\b")
_PLACE_BEFORE = re.compile(
    r"\b(?:(?:flew|moved|moving|travel\w*|went|drove|relocated?|ship|sent) to|in|from|at|near|corner of|lives on) $",
    re.IGNORECASE,
)
_ORDINARY = frozenset(
    """
    a about above account accounts act action addendum address admin administration administrator after
    afternoon agency agreement air all allowance also am an and annual answer any appendix applicant application
    approval approved april are area as ask asset assistant at attn audit august author authority awarded actor
    actress singer producer award away back badge bank base because before benefit benefits best bill board
    bonus both box branch budget building business but buyer by calendar call can card care case center centre
    chair change channel charge check chief child church city claim claimant claims class clause client code
    committee company compliance computer conference contact contract contractor contractors corporate cost
    council country county credit customer customers daily data date day days dear december deputy design desk
    detail details device did director directory division do document documents does domestic draft drive due
    duties each east effective email emergency employee employees employer english enter equipment error europe
    european event every everyone example exception executive expense expenses export external facilities family
    faq february federal fee fees field file final finance first flight following for form friday from full fund
    general german get gift gifts global go good government grade greenlander group guest guidance guide
    guidelines hall handbook have he head health hello help her here hi his holiday home hotel hour hours house
    how hr human i id if in information insurance insured internal international invoice is issue issues it
    italian its january job july june just keep key keys kind last law lead leader leadership leave legal let
    letter level library life limit limits line link list local log login mail main make manager managers manual
    march may me medical meeting meetings member members memo mission monday month more most mr mrs ms must my
    name national need network new news next night no north not note notes notice november now number object
    october of office officer ok on one online only open operations option or order organization other our
    outside overtime overview owner page paid park parking part party password patient pay payer payment payroll
    pension people per performance permission person personal phone place plan please point policies policy
    polish portal position post president price privacy procedure process procurement product program programme
    project property public purchase purpose quality question questions quick rate rates read record records red
    reference region regional regular reimbursement remote report reports request requester resource resources
    response responsible result return review rights risk road role roles room rule rules russian safety salary
    sales salesperson saturday schedule school science scope search secretary section security see senior
    september service services she should sick sign signed since site slack software some south spanish special
    staff standard start state statement states status step steps still street strong subject subscriber suite
    summary sunday supervisor supplier support system systems table task tax team teams technical technology
    tell terms test thank thanks that the their them then there these they this those thursday ticket time title
    to today tool total town training transport travel treasury tuesday two type under union unit united
    university until update updated use used user users vacation value vendor verify version very view visa
    visit visitor visitors want was we web website wednesday week weekend well were west what when where which
    while white who why will with within without work worker workers working workplace would year years yes you
    your acme african american api apple asian australian austrian azure belgian brazilian british calls
    canadian chinese christmas cloud confluence danish docker dutch easter excel facebook finnish french git
    github gitlab google grafana greek icelandic indian internet irish iso japan japanese jenkins jira korean
    kubernetes latin linkedin linux mexican microsoft norwegian okta oracle outlook palo portuguese powerpoint
    python salesforce sap scottish servicenow sharepoint splunk swedish swiss teams terraform turkish twitter
    ukrainian webex welsh windows wi-fi wifi word workday youtube zoom austin berlin boston brazil california
    canada china denmark england florida france georgia germany iceland india ireland italy kenya london mexico
    netherlands norway paris poland porto portugal russia scotland spain sweden switzerland sydney texas tokyo
    turkey ukraine virginia washington york
    """.split()
)
