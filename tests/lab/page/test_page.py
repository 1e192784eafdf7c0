"""The lab in a real browser: what a person sees, by pointer, by keyboard, on a phone; and what never happens."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install '.[lab]'")

from playwright.sync_api import Page, expect

from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding
from plumbob.run_folder import RunFolder
from tests.browser import looks
from tests.browser.conftest import Tab
from tests.browser.looks import look_at, reachable, settle, stops, violations
from tests.lab.page.conftest import QUICK, OpenLab
from tests.lab.page.test_own_tables import bank, processor
from tests.report.support import PAYLOADS

SECONDS = 90_000  # For what a run on a busy machine may take, in milliseconds.
BOTH_LEAK = [
    re.compile(rf"{heading}.*findings: \d+ leak")
    for heading in ("If everyone keeps to the protocol", "If someone cheats")
]
"""The two headlines of a decision sheet, in their order, each with its own count."""
# The longest of these tests wait for whole runs, on a machine that may have much else to do.
pytestmark = pytest.mark.timeout(600)


def shown(tab: Tab, lab: OpenLab) -> Page:
    """The page with the findings of a plan that leaks: the demo's, over exchange."""
    page = first_shown(tab, lab)
    page.locator("#data").select_option("breast-cancer")
    page.locator("#key-protocol").select_option("exchange")
    page.get_by_label("Batch size, exactly").fill("20")
    page.get_by_label("Epochs, exactly").fill("5")
    expect(page.locator("#bar")).to_have_attribute("data-worst", "leaks")
    expect(finding(page, "label-sign")).to_have_attribute("data-verdict", "leaks")
    # The answer to the last number typed: whatever comes before it is drawn again.
    expect(finding(page, "label-stacked")).to_contain_text("5 visits")
    return page


def first_shown(tab: Tab, lab: OpenLab) -> Page:
    """The page as it opens, with its first findings."""
    # What another test left in the controls is not what the page opens with.
    lab.post("check", lab.get("start").json["first"])
    # The token was spent by whoever opened the lab; what it bought is worn here.
    name, _, value = lab.cookie.partition("=")
    worn = {"name": name, "value": value, "url": lab.address, "httpOnly": True, "sameSite": "Strict"}
    tab.page.context.add_cookies([worn])  # type: ignore[list-item]  # Its types want a class of its own.
    page = tab.open(lab.address)
    expect(page.locator(".finding").first).to_be_visible()
    return page


def finding(page: Page, attack: str) -> Any:
    """The first finding about this attack."""
    return page.locator(f".finding[data-attack='{attack}']").first


def set_keys(page: Page, **values: Any) -> None:
    """Keys behind the fold: typed, or ticked."""
    page.get_by_text("Every other key of the plan").click()
    for name, value in values.items():
        control = page.locator(f"#key-{name}")
        control.check() if value is True else control.fill(str(value))


def quiet(tab: Tab, lab: OpenLab) -> bool:
    """No complaint, and no request to anybody else."""
    assert {urlsplit(address).netloc for address in tab.requests} <= {f"127.0.0.1:{lab.port}"}
    assert tab.errors == []
    return True


def test_it_loads_without_a_complaint(tab: Tab, lab: OpenLab) -> None:
    """Findings are there, nothing was complained of, nobody else was asked, and the token is out of sight."""
    page = first_shown(tab, lab)
    expect(page.locator("#sentence")).to_contain_text("If someone cheats")
    expect(page.locator(".option .cost").first).to_contain_text("MB sent", timeout=SECONDS)
    assert lab.token not in page.url
    assert lab.token not in page.content()
    assert page.evaluate("document.cookie") == ""
    assert quiet(tab, lab)


def test_a_slider_changes_the_findings(tab: Tab, lab: OpenLab) -> None:
    """More rows per batch than columns: the verdict changes at once, and the page says what it was.

    A slider is dragged all the way in one go: findings follow, and it stays in the hand.
    """
    page = shown(tab, lab)
    page.locator("#key-batch_size").fill("1000")
    expect(finding(page, "label-sign")).not_to_have_attribute("data-verdict", "leaks")
    expect(finding(page, "label-sign").locator(".was")).to_have_text("was: leaks")
    expect(page.locator("#sentence")).to_contain_text("changed just now")
    page.get_by_label("Batch size, exactly").fill("20")
    expect(finding(page, "label-sign")).to_have_attribute("data-verdict", "leaks")
    box = page.locator("#columns-0").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 7 / 29, middle)
    page.mouse.down()
    for share in (0.4, 0.6, 0.8, 1.0):
        page.mouse.move(box["x"] + box["width"] * share, middle)
        page.wait_for_timeout(80)
    page.mouse.up()
    expect(page.locator("#columns-0")).to_have_value("29")
    expect(page.locator("#columns-1")).to_have_value("1")
    expect(finding(page, "feature-single")).not_to_have_attribute("data-verdict", "not applicable")
    assert quiet(tab, lab)


def test_the_keyboard_is_enough(tab: Tab, lab: OpenLab) -> None:
    """Tab alone is enough: skip to the findings, open one, see its picture, apply its fix, take it back."""
    page = shown(tab, lab)
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    tab_to(page, ".finding[data-attack='label-sign'] > summary")
    page.keyboard.press("Enter")
    expect(page.locator(".finding[open] svg.scene").first).to_be_visible()
    tab_to(page, "button.fix")
    page.keyboard.press("Enter")
    expect(page.locator("#key-protocol")).to_have_value("shares")
    expect(page.locator("#bar")).not_to_have_attribute("data-worst", "leaks")
    expect(page.locator("#undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#key-protocol")).to_have_value("exchange")
    page.locator("#key-batch_size").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#key-batch_size")).to_have_attribute("aria-valuetext", "21")
    assert quiet(tab, lab)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something of this kind has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_a_mistake_is_shown_where_it_was_made(tab: Tab, lab: OpenLab) -> None:
    """Beside its control; nothing of the last plan's findings stays, and the plan cannot be run or saved."""
    page = shown(tab, lab)
    set_keys(page, test_share="2")
    expect(page.locator("#key-test_share-wrong")).to_contain_text("below 1")
    expect(page.locator("#key-test_share")).to_have_attribute("aria-invalid", "true")
    no_findings(page)
    expect(page.locator("#start")).to_be_disabled()
    page.locator("#key-test_share").fill("0.2")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.locator(".finding").first).to_be_visible()
    assert quiet(tab, lab)


def no_findings(page: Page) -> None:
    """Neither counts nor findings nor pages of a plan are on the page."""
    expect(page.locator("#mistakes li").first).to_be_visible()
    assert page.locator("#counts li").count() == 0
    assert page.locator(".finding").count() == 0
    expect(page.locator("#findings-notes")).to_be_hidden()
    expect(page.locator("#pages")).to_be_hidden()
    expect(page.locator("#download-plan")).to_be_disabled()


def test_an_emptied_field_is_no_number(tab: Tab, lab: OpenLab) -> None:
    """What was in it before does not count any more: the plan cannot be run until another number is typed."""
    page = first_shown(tab, lab)
    page.get_by_text("Every other key of the plan").click()
    for field in ("Epochs, exactly", "Columns of party 1, exactly", "Tolerance labels"):
        control = page.get_by_label(field)
        before = control.input_value()
        control.fill("")
        no_findings(page)
        control.fill(before)
        expect(page.locator(".finding").first).to_be_visible()
    assert quiet(tab, lab)


def test_no_choice_weakens_another_silently(tab: Tab, lab: OpenLab) -> None:
    """Away from shares and back, or to more parties and back: protection stays, and what changes along is said."""
    page = first_shown(tab, lab)
    page.locator("#key-protocol").select_option("exchange")
    expect(page.locator("#along")).to_contain_text("open = own")
    page.locator("#key-protocol").select_option("shares")
    expect(page.locator("#along")).to_contain_text("open = never")
    for count in ("3", "8", "2"):
        page.locator("#parties").select_option(count)
        expect(page.locator("#key-protocol")).to_have_value("shares")
        expect(page.locator("#key-open")).to_have_value("never")
    expect(page.locator(".finding").first).to_be_visible()
    page.locator("#undo").click()
    expect(page.locator("#key-protocol")).to_have_value("exchange")


def test_noise_is_never_taken_away_by_another_choice(tab: Tab, lab: OpenLab) -> None:
    """A plan with noise that goes to shares cannot be run, and says so: nobody loses noise without a word."""
    page = shown(tab, lab)
    for noise in ("std", "sound", "heuristic"):
        with page.expect_response("**/check") as answer:
            page.locator("#key-noise").select_option(noise)
        # Not the answer's body: the browser may have thrown it away by now.
        assert answer.value.ok
        expect(page.locator("#mistakes")).to_be_empty()
        expect(page.locator(".finding").first).to_be_visible()
    page.locator("#key-protocol").select_option("shares")
    expect(page.locator("#key-noise")).to_have_value("heuristic")
    expect(page.locator("#key-noise-wrong")).to_contain_text("nothing to add noise to")
    page.locator("#key-noise").select_option("none")
    expect(page.locator(".finding").first).to_be_visible()
    assert quiet(tab, lab)


def test_numbers_alone_can_be_checked(tab: Tab, lab: OpenLab) -> None:
    """Another data set keeps the plan; without any there are findings, and nothing to run."""
    page = first_shown(tab, lab)
    page.locator("#data").select_option("digits-01")
    expect(page.locator("#columns-0")).to_have_attribute("max", "63")
    page.locator("#data").select_option("")
    page.locator("#rows").fill("5000")
    expect(page.locator("#mistakes")).to_be_empty()
    expect(page.locator("#start")).to_be_disabled()
    assert quiet(tab, lab)


def test_a_plan_survives_a_reload(tab: Tab, lab: OpenLab) -> None:
    """What was chosen is there again, also a plan that cannot be run; starting over gives the first one back."""
    page = first_shown(tab, lab)
    page.locator("#key-protocol").select_option("exchange")
    page.get_by_label("Epochs, exactly").fill("7")
    page.reload()
    expect(page.locator("#key-protocol")).to_have_value("exchange")
    expect(page.get_by_label("Epochs, exactly")).to_have_value("7")
    set_keys(page, test_share="2")
    expect(page.locator("#mistakes li").first).to_be_visible()
    page.reload()
    expect(page.locator("#mistakes li").first).to_be_visible()
    page.locator("#forget").click()
    expect(page.locator("#key-protocol")).to_have_value("shares")
    expect(page.locator("#mistakes")).to_be_empty()
    assert quiet(tab, lab)


def test_words_are_explained(tab: Tab, lab: OpenLab) -> None:
    """Words are explained under the pointer and under the focus; Escape hides it, and a list has them all."""
    page = shown(tab, lab)
    listed = page.locator("#glossary dt").all_inner_texts()
    assert {"residual", "rank", "reply bits", "pass", "share"} <= set(listed)
    term = page.locator("#key-protocol-hint .term").first
    term.hover()
    expect(page.locator("#tip")).to_be_visible()
    page.locator("h1").hover()
    expect(page.locator("#tip")).to_be_hidden()
    page.locator("#key-protocol").focus()
    tab_to(page, ".term")
    expect(page.locator("#tip")).to_contain_text("The direction in which training moves the weights")
    described = page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
    )
    assert described == page.locator("#tip").inner_text()
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()
    assert quiet(tab, lab)


def test_findings_can_be_read_and_saved_before_any_run(tab: Tab, lab: OpenLab) -> None:
    """Findings are a page apart from the lab, a file that opens by itself, and one side of paper."""
    page = shown(tab, lab)
    with page.expect_popup() as popup:
        page.locator("#read-findings").click()
    expect(popup.value.locator("h2").first).to_have_text("What each party could work out")
    assert popup.value.evaluate("origin") == "null"
    with page.expect_popup() as popup:
        page.locator("#read-summary").click()
    expect(popup.value.locator(".headline")).to_contain_text(BOTH_LEAK)
    with page.expect_download() as download:
        page.locator("#save-findings").click()
    saved = download.value.path().read_text(encoding="utf-8")
    assert "label-sign" in saved
    assert download.value.suggested_filename.startswith("findings-")
    assert quiet(tab, lab)


def test_a_live_run_ends_with_a_report(tab: Tab, lab: OpenLab) -> None:
    """A run by the plan's own protocol shows its curve, attacks as they arrive, a report and files."""
    page = shown(tab, lab)
    set_keys(page, key_bits=QUICK["key_bits"], test_only_keys=True)
    expect(page.locator(".option strong").first).to_have_text("As the plan says: exchange, paillier keys of 512 bits")
    page.locator("#key-epochs").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#key-epochs")).to_have_attribute("aria-valuetext", "1")
    page.locator("#start").click()
    expect(page.locator("#cancel")).to_be_visible()
    expect(page.locator("#curve svg.narrow").first).to_be_visible(timeout=SECONDS)
    expect(page.locator("#run-status a").first).to_be_visible(timeout=SECONDS)
    expect(page.locator("#results li[data-verdict='leaks']").first).to_contain_text("label-sign")
    expect(page.locator("#runs tr[data-run]")).to_have_count(1)
    expect(page.locator("#comparison svg").first).to_be_visible()
    with page.expect_popup() as popup:
        page.locator("#run-status a").first.click()
    report = popup.value
    expect(report.locator("h1")).to_be_visible()
    # The report has no origin of its own: it could not speak to the lab if it tried.
    assert report.evaluate("origin") == "null"
    with page.expect_popup() as popup:
        page.locator("#run-status a").nth(1).click()
    expect(popup.value.locator(".headline")).to_contain_text(BOTH_LEAK)
    with page.expect_download() as download:
        page.locator("#download-plan").click()
    assert Plan.load(download.value.path()).epochs == 1
    with page.expect_download() as download:
        page.locator("#runs tbody a", has_text="plan").click()
    assert Plan.load(download.value.path()).epochs == 1
    assert quiet(tab, lab)


def test_a_closed_browser_comes_back_cancels_and_compares(
    tab: Tab, new_tab: Callable[..., Tab], open_lab: Callable[..., OpenLab]
) -> None:
    """By the address that was printed next, another browser finds the plan and watches the run that went on.

    Cancel ends it with a word, and two runs show what differs. A lab that is closed at last is noticed.
    """
    lab = open_lab()
    foreign_run(lab.out / "900-shares", "finished")
    page = shown(tab, lab)
    name = lab.long_run()
    page.goto("about:blank")
    assert lab.ask("GET", f"/?token={lab.token}").status == 403
    other = new_tab()
    page = other.open(lab.again)
    expect(page.get_by_label("Epochs, exactly")).to_have_value("5")
    expect(page.locator("#run-status")).to_contain_text("Step", timeout=SECONDS)
    expect(page.locator("#start")).to_be_disabled()
    page.locator("#cancel").click()
    expect(page.locator("#run-status")).to_have_text("The run was cancelled.", timeout=SECONDS)
    assert RunFolder(lab.out / name).record().status.startswith("interrupted")
    boxes = page.locator("#runs tbody input")
    expect(page.locator(f"[data-run='{name}']")).to_be_visible()
    expect(boxes).to_have_count(2)
    for box in boxes.all():
        box.check()
    differing = page.locator("#differences tbody tr")
    expect(differing.filter(has_text="epochs")).to_contain_text("5000")
    page.locator(f"[data-run='{name}'] button").click()
    expect(page.locator("#key-batch_size")).to_have_attribute("aria-valuetext", "5")
    assert quiet(other, lab)
    lab.process.terminate()
    lab.process.wait(120)
    page.locator("#key-batch_size").fill("500")
    expect(page.locator("#sentence")).to_contain_text("does not answer")


def test_it_fits_every_screen(tab: Tab, lab: OpenLab) -> None:
    """With every fold open: nothing sideways, nothing that scrolls inside the page, and axe-core is silent."""
    page = shown(tab, lab)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    expect(page.locator("svg.scene").nth(5)).to_be_visible()
    look_at(page, turn=0, uncropped_from=looks.PHONE)
    page.locator("#key-test_share").fill("2")
    expect(page.locator("#mistakes li").first).to_be_visible()
    assert violations(page) == []
    assert quiet(tab, lab)


def test_tab_reaches_everything(tab: Tab, lab: OpenLab) -> None:
    """All that a pointer could use, in one walk, with an outline that shows where one is.

    Whoever does not see the page is told what each control is.
    """
    page = shown(tab, lab)
    page.get_by_text("Every other key of the plan").click()
    expect(page.locator(".option .cost").first).to_contain_text("MB sent", timeout=SECONDS)
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select, button')].filter(one => !one.labels?.length"
        " && !one.getAttribute('aria-label') && !one.textContent.trim()).map(one => one.outerHTML)"
    )
    assert nameless == []
    for part in ("#sentence", "#run-status"):
        expect(page.locator(part)).to_have_attribute("aria-live", "polite")
    expected = reachable(page)
    assert sorted(stops(page)) == sorted(expected)


@pytest.fixture
def own_files(tmp_path: Path) -> list[Path]:
    """Two tables with text, gaps and a column that should stay out."""
    texts = {"bank.csv": bank(), "processor.csv": processor()}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [tmp_path / name for name in texts]


def with_own_tables(page: Page, files: list[Path], *, is_whole: bool = True) -> None:
    """Chosen in the browser; the label's column is named. Then they are read, unless something more must be said."""
    page.locator("#data").select_option("own")
    expect(page.locator("#mistakes")).to_contain_text("choose")
    for place, file in enumerate(files):
        page.locator(f"#table-file-{place}").set_input_files(file)
        expect(page.locator(f"#table-file-{place}-about")).to_contain_text(file.name)
    page.locator("#table-label").select_option("default")
    if is_whole:
        expect(page.locator(".finding").first).to_be_visible()


def test_own_tables_are_read_checked_and_run(tab: Tab, lab: OpenLab, own_files: list[Path]) -> None:
    """Chosen in the browser: columns are counted and can be left out, a reload keeps them, and a run ends."""
    page = first_shown(tab, lab)
    with_own_tables(page, own_files)
    expect(page.locator("#along")).to_be_empty()
    for place in (0, 1):
        expect(page.locator(f"#table-id-{place}-0")).to_have_value("id")
    expect(page.locator("#table-by-rule-hint")).to_contain_text("Drafted for 64 training rows")
    expect(page.locator("#key-bins")).to_have_value("3")
    expect(page.locator("#rows")).to_have_value("80")
    expect(page.locator("#columns-0")).to_be_disabled()
    width = page.get_by_label("Columns of party 1, exactly").input_value()
    page.get_by_label("Use city").uncheck()
    expect(page.get_by_label("Columns of party 1, exactly")).not_to_have_value(width)
    page.reload()
    expect(page.get_by_label("Use city")).not_to_be_checked()
    expect(page.locator("#rows")).to_have_value("80")
    page.get_by_label("Read balance as").select_option("boolean")
    no_findings(page)
    expect(page.locator("#mistakes")).to_contain_text("processor:")
    page.get_by_label("Read balance as").select_option("")
    expect(page.locator(".finding").first).to_be_visible()
    page.locator("input[value='calculated']").check()
    page.locator("#start").click()
    expect(page.locator("#run-status a").first).to_be_visible(timeout=SECONDS)
    assert quiet(tab, lab)


def test_a_row_is_identified_by_several_columns_at_each_party(tab: Tab, lab: OpenLab, tmp_path: Path) -> None:
    """Each party chooses its own; then by place instead; and whoever chooses bins takes the choice from the rule."""
    texts = {"bank.csv": ("surname,birthday", bank()), "processor.csv": ("name,born", processor())}
    for name, (ids, text) in texts.items():
        (tmp_path / name).write_text(text.replace("\np", "\np,x").replace("id,", f"{ids},", 1))
    page = first_shown(tab, lab)
    with_own_tables(page, [tmp_path / name for name in texts], is_whole=False)
    for place, (ids, _) in enumerate(texts.values()):
        expect(page.locator(f"#table-id-{place}-1")).to_be_hidden()
        for at, column in enumerate(ids.split(",")):
            page.locator(f"#table-id-{place}-{at}").select_option(column)
    expect(page.locator(".finding").first).to_be_visible()
    expect(page.locator("#rows")).to_have_value("80")
    page.locator("#table-by-place").check()
    expect(page.locator("#mistakes")).to_contain_text("the files differ in length")
    expect(page.locator("#table-id-0-0")).to_be_hidden()
    page.locator("#table-by-place").uncheck()
    expect(page.locator("#table-by-rule")).to_be_checked()
    set_keys(page, bins=4)
    expect(page.locator("#table-by-rule")).not_to_be_checked()
    expect(page.locator(".finding").first).to_be_visible()
    expect(page.locator("#key-bins")).to_have_value("4")
    page.locator("#table-by-rule").check()
    expect(page.locator("#key-bins")).to_have_value("3")
    page.locator("#data").select_option("loans")
    expect(page.locator("#key-bins")).to_have_value("0")
    assert quiet(tab, lab)


def test_own_tables_fit_every_screen(tab: Tab, lab: OpenLab, own_files: list[Path]) -> None:
    """The tables' columns, and the list of runs, on a phone and on desktops."""
    page = first_shown(tab, lab)
    with_own_tables(page, own_files)
    # The rule's choice comes after the first findings, and brings others.
    expect(page.locator("#key-bins")).to_have_value("3")
    look_at(page, turn=1, uncropped_from=looks.PHONE)
    settle(page)
    expected = reachable(page)
    assert sorted(stops(page)) == sorted(expected)
    assert quiet(tab, lab)


def test_a_file_that_is_no_table_is_refused_beside_it(tab: Tab, lab: OpenLab, tmp_path: Path) -> None:
    """A file is refused in words, where it was chosen; one that is too large is not even sent."""
    page = first_shown(tab, lab)
    page.locator("#data").select_option("own")
    (tmp_path / "bank.csv").write_text("1.5,2.5\n1,2\n")
    page.locator("#table-file-0").set_input_files(tmp_path / "bank.csv")
    expect(page.locator(".card .wrong").first).to_contain_text("expected the columns' names in the first line")
    page.evaluate("""() => {
      const input = document.getElementById("table-file-0"), file = new File(["a,b"], "huge.csv");
      Object.defineProperty(file, "size", { value: 2 ** 40 });
      Object.defineProperty(input, "files", { value: [file], configurable: true });
      input.dispatchEvent(new Event("change"));
    }""")
    expect(page.locator(".card .wrong").first).to_contain_text("use plumbob audit for larger files")
    # The refusal of the first file is what the console was told.
    assert [error for error in tab.errors if "400" not in error] == []


def test_hostile_names_stay_text(tab: Tab, open_lab: Callable[..., OpenLab], tmp_path: Path) -> None:
    """Titles, statuses, findings and folders of runs that somebody else made are words on the page, nothing else."""
    named = tmp_path / PAYLOADS[0].replace("/", "")
    foreign_run(named, PAYLOADS[0])
    lab = open_lab(str(named))
    for number, words in enumerate(PAYLOADS, start=1):
        foreign_run(lab.out / f"{number:03d}-clear", words)
    page = first_shown(tab, lab)
    expect(page.locator("#runs tr[data-run]")).to_have_count(len(PAYLOADS) + 1)
    titles = page.locator("#runs tr[data-run] .title").all_inner_texts()
    printable = [words for words in PAYLOADS if words.isprintable()]
    assert {" ".join(words.split()) for words in printable} <= {" ".join(title.split()) for title in titles}
    for box in page.locator("#runs tbody input").all()[:2]:
        box.check()
    expect(page.locator("#differences")).to_be_visible()
    assert (
        page.locator(
            "#runs script, #runs iframe, #runs img, #runs [onload], #runs [onerror], #opened *:not(strong, a)"
        ).count()
        == 0
    )
    assert quiet(tab, lab)


def foreign_run(folder: Path, words: str) -> None:
    """A folder whose record says these words wherever it can."""
    folder.mkdir(parents=True)
    title = words if words.isprintable() else "unprintable"
    record = unfinished_record(Plan.for_columns((1, 1), title=title, batch_size=5), 10, words)
    found = Finding(words, words, words, "labels", "leaks", words, words, words, advantage=0.5)
    quality: dict[str, dict[str, dict[str, float | None]]] = {words: {"joint": {"auc": 0.7, "log_loss": 0.5}}}
    RunFolder(folder).save_record(replace(record, findings=[found], quality=quality))
