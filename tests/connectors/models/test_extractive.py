from collections.abc import Sequence

from connectors.models.extractive import ExtractiveWriter, Thresholds
from connectors.records import Evidence, Form, Passage
from policies.clearance import Cleared, Sealed, clear
from policies.decision import Allowed
from policies.grounding import coverage
from policies.names import DocumentId

DOCUMENT = DocumentId("sample", "a.md")
RULE = "Claims denied for missing prior authorization must be appealed within 30 calendar days."
EXCEPTION = "Exception: if a retro-authorization is approved, the deadline extends to 60 calendar days."


class ByWords:
    """A reranker whose relevance is the share of the question's words in the text."""

    model = "words"

    async def scores(self, question: str, passages: Sequence[Cleared[str]]) -> Sequence[float]:
        return [coverage(question, passage.content) for passage in passages]


def evidence(label: str, text: str, form: Form = Form.TEXT, document: DocumentId = DOCUMENT) -> Evidence:
    passage = Passage(text, "header", (), "Title", "https://x.example", None, form, None, None, False, None, ())
    return Evidence(label, clear(Sealed(document, "v1", passage), Allowed(document, "v1", "p")), 0.9)


WRITER = ExtractiveWriter(ByWords(), Thresholds(answers=0.8, supports=0.7, margin=10))


async def test_it_quotes_the_sentence_that_answers_and_names_its_passage() -> None:
    draft = await WRITER.write("q", ["appealed within calendar days"], [evidence("S1", f"Hello there. {RULE}")])

    assert [(claim.text, claim.labels) for claim in draft.claims] == [(RULE, ("S1",))]


async def test_a_rule_takes_its_exception_along() -> None:
    draft = await WRITER.write("q", ["claims appealed within calendar days"], [evidence("S1", f"{RULE} {EXCEPTION}")])

    assert [claim.text for claim in draft.claims] == [f"{RULE} {EXCEPTION}"]


async def test_an_exception_further_on_takes_along_what_stands_between() -> None:
    text = f"{RULE} Include the denial notice. {EXCEPTION}"

    draft = await WRITER.write("q", ["claims appealed within calendar days"], [evidence("S1", text)])

    assert [claim.text for claim in draft.claims] == [text]


async def test_what_speaks_of_another_thing_is_not_said() -> None:
    x, y = "Payer X wants appeals within 30 days.", "Payer Y wants appeals within 90 days."

    draft = await WRITER.write("q", ["Payer X wants appeals within"], [evidence("S1", y), evidence("S2", x)])

    assert [claim.text for claim in draft.claims] == [x]


async def test_what_speaks_of_another_kind_adds_to_an_answer_but_is_none() -> None:
    employee, contractor = "Airfare is paid to employees.", "Airfare is paid to contractors who may claim it."
    question = "Is airfare paid to contractors?"

    alone = await WRITER.write("q", [question], [evidence("S1", employee)])
    both = await WRITER.write("q", [question], [evidence("S1", employee), evidence("S2", contractor)])

    assert alone.claims == ()
    assert [claim.labels for claim in both.claims] == [("S2",), ("S1",)]


async def test_two_numbers_make_two_claims() -> None:
    first, second = "Appeals are due within 30 days.", "Appeals are due within 90 days."

    draft = await WRITER.write("q", ["Appeals are due within"], [evidence("S1", first), evidence("S2", second)])

    assert len(draft.claims) == 2


async def test_a_later_part_is_answered_about_the_code_that_an_earlier_one_found() -> None:
    note = evidence("S1", "The claim was denied with CO-197.")
    table = evidence("S2", "Denial code CO-16: attach nothing.\nDenial code CO-197: attach the notice.")

    draft = await WRITER.write("q", ["The claim was denied with", "attach denial code"], [note, table])

    assert [claim.text for claim in draft.claims] == [
        "The claim was denied with CO-197.",
        "Denial code CO-197: attach the notice.",
    ]


async def test_a_row_about_another_code_of_the_same_kind_is_not_said() -> None:
    table = evidence("S1", "Article KB-7741: how to reset the token.\nArticle KB-7742: how to reset the card.")

    draft = await WRITER.write("q", ["how to reset with KB-7741"], [table])

    assert [claim.text for claim in draft.claims] == ["Article KB-7741: how to reset the token."]


async def test_a_passage_about_the_code_answers_in_sentences_that_do_not_repeat_it() -> None:
    note = evidence("S1", "The claim was denied with CO-197. The clerk attached the notice in March.")

    draft = await WRITER.write("q", ["what the clerk attached for CO-197"], [note])

    assert "The clerk attached the notice in March." in [claim.text for claim in draft.claims]


async def test_a_bare_code_is_quoted_from_every_document_once() -> None:
    asked = "CO-197"
    first = evidence("S1", "Code CO-197 means absent.\nDenials with CO-197 rose.", document=DocumentId("sample", "a"))
    second = evidence("S2", "Appeal CO-197 within 30 days.", document=DocumentId("sample", "b"))
    third = evidence("S3", "Payer Y wants CO-197 appealed within 90 days.", document=DocumentId("sample", "c"))
    other = evidence("S4", "Code CO-16 means incomplete.", document=DocumentId("sample", "d"))

    draft = await WRITER.write(asked, [asked], [first, second, third, other])

    assert [claim.labels for claim in draft.claims] == [("S1",), ("S2",), ("S3",)]


async def test_a_further_sentence_has_to_touch_what_was_asked() -> None:
    writer = ExtractiveWriter(ByWords(), Thresholds(answers=0.8, supports=0.1, margin=100))
    question = "appeal deadline authorization denial"
    asked = "The appeal deadline of an authorization denial is 30 days."
    beside = "An appeal is decided by the desk."

    draft = await writer.write(question, [question], [evidence("S1", f"{asked} {beside}")])

    assert [claim.text for claim in draft.claims] == [asked]


async def test_what_does_not_answer_is_not_quoted() -> None:
    draft = await WRITER.write("q", ["may dogs enter the office"], [evidence("S1", RULE)])

    assert draft.claims == ()
    assert draft.unanswered == ("may dogs enter the office",)


async def test_each_part_is_answered_on_its_own() -> None:
    parts = ["claims appealed within calendar days", "may dogs enter the office"]

    draft = await WRITER.write("q", parts, [evidence("S1", RULE), evidence("S2", "Dogs may enter the office.")])

    assert [claim.labels for claim in draft.claims] == [("S1",), ("S2",)]
    assert draft.unanswered == ()


async def test_repetition_is_said_once() -> None:
    draft = await WRITER.write(
        "q", ["dogs office"], [evidence("S1", "Dogs enter the office."), evidence("S2", "Dogs enter the office!")]
    )

    assert len(draft.claims) == 1


async def test_an_unseen_condition_is_named() -> None:
    draft = await WRITER.write(
        "Is airfare reimbursed?",
        ["Is airfare reimbursed?"],
        [evidence("S1", "Airfare is reimbursed only if the contract allows it.")],
    )

    assert draft.missing == ("only if the contract allows it",)


async def test_no_evidence_makes_no_claims() -> None:
    assert (await WRITER.write("q", ["anything at all"], [])).claims == ()


async def test_a_passage_without_the_code_that_is_asked_about_is_no_answer() -> None:
    text = "The denial code CO-197 means that the authorization is absent."

    other = await WRITER.write("q", ["What does denial code CO-236 mean?"], [evidence("S1", text)])
    same = await WRITER.write("q", ["What does denial code CO-197 mean?"], [evidence("S1", text)])

    assert other.claims == ()
    assert len(same.claims) == 1


async def test_a_sentence_of_an_irrelevant_passage_counts_less() -> None:
    near = evidence("S1", "Dogs may enter the office.")
    far = Evidence("S1", near.passage, 1e-5)

    assert (await WRITER.write("q", ["may dogs enter the office"], [near])).claims
    assert not (await WRITER.write("q", ["may dogs enter the office"], [far])).claims
