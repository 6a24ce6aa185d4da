"""The live page in a real browser: what it shows, and what a reader can do with it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from tests.browser import streams
from tests.browser.chromium import drag, wait

pytestmark = pytest.mark.browser

CHART = "#charts figure:nth-child(1) svg"
LAST = "#charts figure:nth-child(5) svg"


def view(page):
    return page.evaluate("document.body.dataset.view")


def batches(page, count):
    wait(page, f"document.body.dataset.batches === '{count}'")


def test_ten_thousand_batches_are_drawn_and_nothing_is_loaded_from_elsewhere(
    window, serve, tmp_path
):
    streams.write(tmp_path, 0, 10_000)
    server = serve(tmp_path)
    page = window.open(server.url, "document.body.dataset.batches === '10000'")
    assert view(page) == "0-9999"
    assert "9,999" in page.inner_text("#tiles")
    assert page.evaluate("document.querySelectorAll('#charts svg path.line').length") == 5
    assert page.evaluate("document.querySelectorAll('#charts svg path').length") < 20
    assert (
        page.evaluate(f"document.querySelector('{CHART} .line').getAttribute('d').length") < 60_000
    )
    assert window.errors == []
    assert {url.split("?")[0] for url in window.requested} <= {
        server.url, "data:,", *(server.url + part for part in (
            "page.css", "live.css", "watch.js", "chart.js", "figures.js", "panels.js", "batches"))
    }  # fmt: skip


def test_new_batches_appear_and_a_pause_holds_them_back(page, tmp_path):
    streams.write(tmp_path, 300, 305)
    batches(page, 305)
    page.click("#pause")
    assert page.evaluate("document.querySelector('#pause').getAttribute('aria-pressed')") == "true"
    streams.write(tmp_path, 305, 307)
    wait(page, "document.querySelector('#status').innerText.includes('2 new batches')")
    assert page.evaluate("document.body.dataset.batches") == "305"
    page.click("#pause")
    batches(page, 307)
    assert "306" in page.inner_text("#tiles")


def test_a_repeated_batch_replaces_itself(page, tmp_path):
    streams.write(tmp_path, 299, 300, max_over_mean=7.5)
    wait(page, "document.querySelector('#tiles').innerText.includes('7.500')")
    assert page.evaluate("document.body.dataset.batches") == "300"


def test_zoom(page):
    drag(page, CHART, 0.4, 0.6)
    first, last = map(int, view(page).split("-"))
    assert 90 < first < 125
    assert 170 < last < 195
    page.click("#in")
    assert int(view(page).split("-")[0]) > first
    for _ in range(4):
        page.click("#out")
    assert view(page) == "0-299"
    page.click("#recent")
    assert view(page) == "200-299"
    page.keyboard.press("[")
    assert view(page) == "150-249"
    page.keyboard.press("0")
    assert view(page) == "0-299"
    drag(page, LAST, 0.2, 0.5)
    page.dblclick(CHART)
    assert view(page) == "0-299"


def test_hovering_tells_the_figures_of_a_batch(page):
    page.hover(CHART)
    wait(page, "!document.querySelector('#tip').hidden")
    batch = int(page.evaluate(f"document.querySelector('{CHART}').getAttribute('aria-valuenow')"))
    known = streams.record(batch)
    said = page.inner_text("#tip")
    assert f"Batch {batch}" in said
    assert f"{known['max_over_mean']:.3f}" in said
    assert page.evaluate("document.querySelectorAll('#charts .cross').length") == 5
    page.mouse.move(5, 5)
    wait(page, "document.querySelector('#tip').hidden")


def test_a_click_shows_the_workers_and_keys_of_a_batch(page):
    page.click(CHART)
    wait(page, "document.querySelector('#which').innerText.startsWith('in batch')")
    batch = int(page.inner_text("#which").split()[-1])
    wait(page, f"document.querySelector('#hottest').innerText.includes('batch {batch}')")
    assert streams.record(batch)["hottest"][0][0] in page.inner_text("#hottest")
    assert f"batch {batch}:" in page.evaluate(
        "document.querySelector('#loads').getAttribute('aria-label')"
    )
    page.click("#now")
    wait(page, "document.querySelector('#which').innerText === 'now'")


def test_a_reload_keeps_history_zoom_pause_and_batch(page, tmp_path):
    drag(page, CHART, 0.4, 0.6)
    zoomed = view(page)
    page.click(CHART)
    wait(page, "document.querySelector('#which').innerText.startsWith('in batch')")
    pinned = page.inner_text("#which")
    page.click("#pause")
    page.reload()
    wait(page, f"document.querySelector('#which').innerText === '{pinned}'")
    assert page.evaluate("document.body.dataset.batches") == "300"
    assert view(page) == zoomed
    assert page.evaluate("document.querySelector('#pause').innerText") == "Go on"
    streams.write(tmp_path, 300, 301)
    wait(page, "document.querySelector('#status').innerText.includes('1 new batch')")


def test_by_keyboard_alone(page):
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.ariaLabel"))
        if seen[-1] == "Max / mean load by batch":
            break
    assert {"pause", "in", "out", "recent"} <= set(seen)
    for name in ("Home", "ArrowRight", "ArrowRight"):
        page.keyboard.press(name)
    told = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    assert told == f"batch 2: max/mean {streams.record(2)['max_over_mean']:.3f}"
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#which').innerText === 'in batch 2'")
    page.keyboard.press("Escape")
    wait(page, "document.querySelector('#which').innerText === 'now'")
    page.keyboard.press("p")
    assert page.inner_text("#pause") == "Go on"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_a_screen_reader_finds_a_name_and_a_role_for_everything(page):
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    roles = {}
    for node in nodes:
        if not node.get("ignored"):
            name = node.get("name", {}).get("value", "")
            roles.setdefault(node["role"]["value"], []).append(name)
    assert len(roles["slider"]) == 5
    assert "Load per worker" in roles["heading"]
    for role in ("button", "slider", "image", "link", "region", "toolbar", "table"):
        assert all(roles.get(role, ["x"])), role
    assert roles["status"]


def test_everything_drawn_is_also_a_table(page):
    page.click("#table-title")
    wait(page, "document.querySelectorAll('#table tbody tr').length === 200")
    first = page.inner_text("#table tbody tr")
    assert first.startswith("299")
    assert f"{streams.record(299)['rows']:,}" in first
    page.click("section[aria-labelledby=loads-title] summary")
    assert page.evaluate("document.querySelectorAll('#loads-table tbody tr').length") == 16


def test_hostile_keys_are_only_looked_at(window, serve, tmp_path):
    streams.write(tmp_path, 0, 3, hottest=streams.HOSTILE_KEYS)
    window.page.set_viewport_size({"width": 420, "height": 900})
    page = window.open(serve(tmp_path).url, "document.body.dataset.batches === '3'")
    wait(page, "document.querySelectorAll('#hottest tbody tr').length === 18")
    assert "owned" not in page.evaluate("document.title")
    assert page.evaluate("document.querySelectorAll('script, img').length") == 1
    assert "<script>document.title='owned'</script>" in page.inner_text("#hottest")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    assert window.errors == []


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_reader_and_paper_is_white(page, dark):
    page.emulate_media(media="screen", color_scheme="dark" if dark else "light")
    light = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 128"
    assert page.evaluate(light) is not dark
    page.emulate_media(media="print")
    assert page.evaluate(light)
    assert page.evaluate("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert page.evaluate("getComputedStyle(document.querySelector('header')).position") == "static"
    assert page.pdf(print_background=True).startswith(b"%PDF")


def test_other_hosts_need_the_token(window, serve, tmp_path):
    streams.write(tmp_path, 0, 3)
    server = serve(tmp_path, host="0.0.0.0")
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    for refused in (address, address + "batches", address + "?token=wrong"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(refused)
    drawn = "document.body.dataset.batches === '3'"
    page = window.open(f"{address}?token={server.access.token}", drawn)
    assert page.evaluate("location.href") == address
    assert page.evaluate("document.cookie") == ""


def test_the_server_may_go_and_come(page, serve, tmp_path):
    streams.write(tmp_path, 300, 301)
    batches(page, 301)
    page.evaluate("void (window.fetch = () => Promise.reject(new Error('gone')))")
    wait(page, "document.querySelector('#status').classList.contains('lost')")
    assert json.loads(page.evaluate("JSON.stringify(document.body.dataset.batches)")) == "301"
