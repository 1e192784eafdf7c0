"""The lab in a real browser: what a person sees, by pointer, by keyboard, on a phone; and what never happens."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette", reason="the lab's extra is not installed: pip install 'plumbob[lab]'")

from playwright.sync_api import Page, expect

from plumbob.plan import Plan
from plumbob.protocol.outcome import unfinished_record
from plumbob.record import Finding, RunRecord
from tests.browser.conftest import PHONE, Tab
from tests.report.support import PAYLOADS
from tests.workshop.lab.conftest import QUICK, OpenLab

SECONDS = 120_000  # For what a run on a busy machine may take, in milliseconds.


def shown(tab: Tab, lab: OpenLab) -> Page:
    """The page, with its first findings."""
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
    page = shown(tab, lab)
    expect(page.locator("#sentence")).to_contain_text("leak above the plan's tolerance")
    expect(page.locator(".option .cost").first).to_contain_text("MB sent", timeout=SECONDS)
    assert lab.token not in page.url
    assert lab.token not in page.content()
    assert page.evaluate("document.cookie") == ""
    assert quiet(tab, lab)


def test_a_slider_changes_the_findings(tab: Tab, lab: OpenLab) -> None:
    """More rows a batch than columns: the verdict changes at once, and the page says what it was."""
    page = shown(tab, lab)
    expect(finding(page, "label-sign")).to_have_attribute("data-verdict", "leaks")
    page.locator("#key-batch_size").fill("1000")
    expect(finding(page, "label-sign")).not_to_have_attribute("data-verdict", "leaks")
    expect(finding(page, "label-sign").locator(".was")).to_have_text("was: leaks")
    expect(page.locator("#sentence")).to_contain_text("changed just now")
    assert quiet(tab, lab)


def test_the_keyboard_is_enough(tab: Tab, lab: OpenLab) -> None:
    """From the top by Tab alone: skip to the findings, open one, see its picture, apply its fix, take it back."""
    page = shown(tab, lab)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    tab_to(page, ".finding summary")
    tab_to(page, ".finding:not([open]) > summary")
    page.keyboard.press("Enter")
    expect(page.locator(".finding[open] svg.scene").nth(1)).to_be_visible()
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


def test_a_slider_can_be_dragged(tab: Tab, lab: OpenLab) -> None:
    """By the pointer, all the way in one go: findings follow, and the slider stays in the hand."""
    page = shown(tab, lab)
    box = page.locator("#columns-0").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 8 / 29, middle)
    page.mouse.down()
    for share in (0.4, 0.6, 0.8, 1.0):
        page.mouse.move(box["x"] + box["width"] * share, middle)
        page.wait_for_timeout(80)
    page.mouse.up()
    expect(page.locator("#columns-0")).to_have_value("29")
    expect(page.locator("#columns-1")).to_have_value("1")
    expect(finding(page, "feature-single")).not_to_have_attribute("data-verdict", "not applicable")
    assert quiet(tab, lab)


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until something of this kind has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_every_control_has_a_name(tab: Tab, lab: OpenLab) -> None:
    """Whoever does not see the page is told what each control is."""
    page = shown(tab, lab)
    nameless = page.evaluate(
        "[...document.querySelectorAll('input, select, button')].filter(one => !one.labels?.length"
        " && !one.getAttribute('aria-label') && !one.textContent.trim()).map(one => one.outerHTML)"
    )
    assert nameless == []
    for part in ("#sentence", "#run-status"):
        expect(page.locator(part)).to_have_attribute("aria-live", "polite")


def test_a_mistake_is_shown_where_it_was_made(tab: Tab, lab: OpenLab) -> None:
    """Beside its control; the last findings stay, dimmed, and the plan cannot be run."""
    page = shown(tab, lab)
    set_keys(page, test_share="2")
    expect(page.locator("#key-test_share-wrong")).to_contain_text("below 1")
    expect(page.locator("#key-test_share")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#findings")).to_have_class("stale")
    expect(page.locator("#start")).to_be_disabled()
    page.locator("#key-test_share").fill("0.2")
    expect(page.locator("#start")).to_be_enabled()
    assert quiet(tab, lab)


def test_no_choice_weakens_another_silently(tab: Tab, lab: OpenLab) -> None:
    """Away from shares and back again, or to three parties and back, the weights stay shared."""
    page = shown(tab, lab)
    page.locator("#key-protocol").select_option("shares")
    expect(page.locator("#key-open")).to_have_value("never")
    page.locator("#key-protocol").select_option("exchange")
    page.locator("#key-protocol").select_option("shares")
    page.locator("#parties").select_option("3")
    page.locator("#parties").select_option("2")
    expect(page.locator("#key-protocol")).to_have_value("shares")
    expect(page.locator("#key-open")).to_have_value("never")


def test_what_goes_together_is_set_together(tab: Tab, lab: OpenLab) -> None:
    """Choosing noise gives a plan that can be run; choosing shares takes the noise away again."""
    page = shown(tab, lab)
    for noise in ("std", "sound", "heuristic"):
        with page.expect_response("**/check") as answer:
            page.locator("#key-noise").select_option(noise)
        assert "findings" in answer.value.json()
    page.locator("#key-protocol").select_option("shares")
    expect(page.locator("#key-noise")).to_have_value("none")
    page.locator("#data").select_option("digits-01")
    expect(page.locator("#columns-0")).to_have_attribute("max", "63")
    page.locator("#parties").select_option("3")
    expect(page.locator("#key-protocol")).to_have_value("shares")
    page.locator("#parties").select_option("2")
    expect(page.locator("#key-protocol")).to_have_value("shares")
    page.locator("#data").select_option("")
    page.locator("#rows").fill("5000")
    expect(page.locator("#mistakes")).to_be_empty()
    expect(page.locator("#start")).to_be_disabled()
    assert quiet(tab, lab)


def test_a_live_run_ends_with_a_report(tab: Tab, lab: OpenLab) -> None:
    """By the plan's own protocol: the curve grows, attacks arrive, the report opens apart from the lab, files load."""
    page = shown(tab, lab)
    set_keys(page, key_bits=QUICK["key_bits"], test_only_keys=True)
    page.locator("#key-epochs").focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#key-epochs")).to_have_attribute("aria-valuetext", "2")
    page.locator("#start").click()
    expect(page.locator("#cancel")).to_be_visible()
    expect(page.locator("#curve svg.narrow").first).to_be_visible(timeout=SECONDS)
    expect(page.locator("#run-status a")).to_be_visible(timeout=SECONDS)
    expect(page.locator("#results li[data-verdict='leaks']").first).to_contain_text("label-sign")
    expect(page.locator("#runs tr[data-run]")).to_have_count(1)
    expect(page.locator("#comparison svg").first).to_be_visible()
    with page.expect_popup() as popup:
        page.locator("#run-status a").click()
    report = popup.value
    expect(report.locator("h1")).to_be_visible()
    # The report has no origin of its own: it could not speak to the lab if it tried.
    assert report.evaluate("origin") == "null"
    with page.expect_download() as download:
        page.locator("#download-plan").click()
    assert Plan.load(download.value.path()).epochs == 2
    with page.expect_download() as download:
        page.locator("#runs tbody a", has_text="plan").click()
    assert Plan.load(download.value.path()).epochs == 2
    assert quiet(tab, lab)


def test_a_run_can_be_cancelled_and_another_compared(tab: Tab, lab: OpenLab) -> None:
    """Cancel ends it with a word; a page that is opened meanwhile watches too; two runs show what differs."""
    name = lab.long_run()
    page = shown(tab, lab)
    expect(page.locator("#run-status")).to_contain_text("Step", timeout=SECONDS)
    expect(page.locator("#start")).to_be_disabled()
    page.locator("#cancel").click()
    expect(page.locator("#run-status")).to_have_text("The run was cancelled.", timeout=SECONDS)
    assert RunRecord.load(lab.out / name).status.startswith("interrupted")
    page.locator("input[value='calculated']").check()
    page.locator("#start").click()
    expect(page.locator("#run-status a")).to_be_visible(timeout=SECONDS)
    for box in page.locator("#runs tbody input").all()[-2:]:
        box.check()
    differing = page.locator("#differences tbody tr")
    expect(differing.filter(has_text="epochs")).to_contain_text("5000")
    page.locator(f"[data-run='{name}'] button").click()
    expect(page.locator("#key-batch_size")).to_have_attribute("aria-valuetext", "5")
    assert quiet(tab, lab)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_needs_no_sideways_scrolling(new_tab: Callable[..., Tab], lab: OpenLab, scheme: str) -> None:
    """At a phone's width everything is within it, also with every fold open."""
    tab = new_tab(viewport=PHONE, color_scheme=scheme)
    page = shown(tab, lab)
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
    expect(page.locator("svg.scene").nth(5)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert quiet(tab, lab)


def test_hostile_names_stay_text(tab: Tab, open_lab: Callable[..., OpenLab], tmp_path: Path) -> None:
    """Titles, statuses, findings and folders of runs that somebody else made are words on the page, nothing else."""
    named = tmp_path / PAYLOADS[0].replace("/", "")
    hostile_run(named, PAYLOADS[0])
    lab = open_lab(str(named))
    for number, words in enumerate(PAYLOADS, start=1):
        hostile_run(lab.out / f"{number:03d}-clear", words)
    page = shown(tab, lab)
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


def hostile_run(folder: Path, words: str) -> None:
    """A folder whose record says these words wherever it can."""
    folder.mkdir(parents=True)
    title = words if words.isprintable() else "unprintable"
    record = unfinished_record(Plan.for_columns((1, 1), title=title, batch_size=5), 10, words)
    found = Finding(words, words, words, "labels", "leaks", words, words, words, advantage=0.5)
    quality: dict[str, dict[str, dict[str, float | None]]] = {words: {"joint": {"auc": 0.7, "log_loss": 0.5}}}
    replace(record, findings=[found], quality=quality).save(folder)


def test_a_closed_lab_is_noticed(tab: Tab, open_lab: Callable[..., OpenLab]) -> None:
    """The page says so instead of standing still."""
    lab = open_lab()
    page = shown(tab, lab)
    lab.process.terminate()
    lab.process.wait(120)
    page.locator("#key-batch_size").fill("500")
    expect(page.locator("#sentence")).to_contain_text("does not answer")
