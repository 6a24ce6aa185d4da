"""The live page in a real browser: what it shows, and what a reader can do with it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest
from tests.browser import streams

pytestmark = pytest.mark.browser

CHART = "#charts figure:nth-child(1) svg"
LAST = "#charts figure:nth-child(5) svg"


def view(page):
    return page.run("document.body.dataset.view")


def batches(page, count):
    page.wait(f"document.body.dataset.batches === '{count}'")


def test_ten_thousand_batches_are_drawn_and_nothing_is_loaded_from_elsewhere(
    browser, serve, tmp_path
):
    streams.write(tmp_path, 0, 10_000)
    server = serve(tmp_path)
    page = browser.page()
    page.open(server.url, "document.body.dataset.batches === '10000'")
    assert view(page) == "0-9999"
    assert "9,999" in page.text("#tiles")
    assert page.run("document.querySelectorAll('#charts svg path.line').length") == 5
    assert page.run("document.querySelectorAll('#charts svg path').length") < 20
    assert page.run(f"document.querySelector('{CHART} .line').getAttribute('d').length") < 60_000
    assert page.complaints() == []
    assert {url.split("?")[0] for url in page.requested()} <= {
        server.url, "data:,", *(server.url + part for part in (
            "page.css", "live.css", "watch.js", "chart.js", "figures.js", "panels.js", "batches"))
    }  # fmt: skip


def test_new_batches_appear_and_a_pause_holds_them_back(page, tmp_path):
    streams.write(tmp_path, 300, 305)
    batches(page, 305)
    page.click("#pause")
    assert page.run("document.querySelector('#pause').getAttribute('aria-pressed')") == "true"
    streams.write(tmp_path, 305, 307)
    page.wait("document.querySelector('#status').innerText.includes('2 new batches')")
    assert page.run("document.body.dataset.batches") == "305"
    page.click("#pause")
    batches(page, 307)
    assert "306" in page.text("#tiles")


def test_a_repeated_batch_replaces_itself(page, tmp_path):
    streams.write(tmp_path, 299, 300, max_over_mean=7.5)
    page.wait("document.querySelector('#tiles').innerText.includes('7.500')")
    assert page.run("document.body.dataset.batches") == "300"


def test_zoom(page):
    page.drag(CHART, 0.4, 0.6)
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
    page.key("[")
    assert view(page) == "150-249"
    page.key("0")
    assert view(page) == "0-299"
    page.drag(LAST, 0.2, 0.5)
    x, y = page.centre(CHART)
    for clicks in (1, 2):
        page.mouse("Pressed", x, y, clicks)
        page.mouse("Released", x, y, clicks)
    assert view(page) == "0-299"


def test_hovering_tells_the_figures_of_a_batch(page):
    x, y = page.centre(CHART)
    page.mouse("Moved", x, y)
    page.wait("!document.querySelector('#tip').hidden")
    batch = int(page.run(f"document.querySelector('{CHART}').getAttribute('aria-valuenow')"))
    known = streams.record(batch)
    said = page.text("#tip")
    assert f"Batch {batch}" in said
    assert f"{known['max_over_mean']:.3f}" in said
    assert page.run("document.querySelectorAll('#charts .cross').length") == 5
    page.mouse("Moved", 5, 5)
    page.wait("document.querySelector('#tip').hidden")


def test_a_click_shows_the_workers_and_keys_of_a_batch(page):
    page.click(CHART)
    page.wait("document.querySelector('#which').innerText.startsWith('in batch')")
    batch = int(page.text("#which").split()[-1])
    page.wait(f"document.querySelector('#hottest').innerText.includes('batch {batch}')")
    assert streams.record(batch)["hottest"][0][0] in page.text("#hottest")
    assert f"batch {batch}:" in page.run(
        "document.querySelector('#loads').getAttribute('aria-label')"
    )
    page.click("#now")
    page.wait("document.querySelector('#which').innerText === 'now'")


def test_a_reload_keeps_history_zoom_pause_and_batch(page, tmp_path):
    page.drag(CHART, 0.4, 0.6)
    zoomed = view(page)
    page.click(CHART)
    page.wait("document.querySelector('#which').innerText.startsWith('in batch')")
    pinned = page.text("#which")
    page.click("#pause")
    page.call("Page.reload")
    page.wait(f"document.querySelector('#which').innerText === '{pinned}'")
    assert page.run("document.body.dataset.batches") == "300"
    assert view(page) == zoomed
    assert page.run("document.querySelector('#pause').innerText") == "Go on"
    streams.write(tmp_path, 300, 301)
    page.wait("document.querySelector('#status').innerText.includes('1 new batch')")


def test_by_keyboard_alone(page):
    seen = []
    for _ in range(40):
        page.key("Tab")
        seen.append(page.run("document.activeElement.id || document.activeElement.ariaLabel"))
        if seen[-1] == "Max / mean load by batch":
            break
    assert {"pause", "in", "out", "recent"} <= set(seen)
    for name in ("Home", "ArrowRight", "ArrowRight"):
        page.key(name)
    told = page.run("document.activeElement.getAttribute('aria-valuetext')")
    assert told == f"batch 2: max/mean {streams.record(2)['max_over_mean']:.3f}"
    page.key("Enter")
    page.wait("document.querySelector('#which').innerText === 'in batch 2'")
    page.key("Escape")
    page.wait("document.querySelector('#which').innerText === 'now'")
    page.key("p")
    assert page.text("#pause") == "Go on"
    outline = page.run("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_a_screen_reader_finds_a_name_and_a_role_for_everything(page):
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
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
    page.wait("document.querySelectorAll('#table tbody tr').length === 200")
    first = page.text("#table tbody tr")
    assert first.startswith("299")
    assert f"{streams.record(299)['rows']:,}" in first
    page.click("section[aria-labelledby=loads-title] summary")
    assert page.run("document.querySelectorAll('#loads-table tbody tr').length") == 16


def test_hostile_keys_are_only_looked_at(browser, serve, tmp_path):
    streams.write(tmp_path, 0, 3, hottest=streams.HOSTILE_KEYS)
    page = browser.page(width=420)
    page.open(serve(tmp_path).url, "document.body.dataset.batches === '3'")
    page.wait("document.querySelectorAll('#hottest tbody tr').length === 18")
    assert "owned" not in page.run("document.title")
    assert page.run("document.querySelectorAll('script, img').length") == 1
    assert "<script>document.title='owned'</script>" in page.text("#hottest")
    assert page.run("document.documentElement.scrollWidth") <= 420
    assert page.complaints() == []


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_reader_and_paper_is_white(page, dark):
    page.media("screen", dark)
    light = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] > 128"
    assert page.run(light) is not dark
    page.media("print", dark)
    assert page.run(light)
    assert page.run("getComputedStyle(document.querySelector('.tools')).display") == "none"
    assert page.run("getComputedStyle(document.querySelector('header')).position") == "static"
    assert page.paper().startswith(b"%PDF")


def test_other_hosts_need_the_token(browser, serve, tmp_path):
    streams.write(tmp_path, 0, 3)
    server = serve(tmp_path, host="0.0.0.0")
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    for refused in (address, address + "batches", address + "?token=wrong"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(refused)
    page = browser.page()
    page.open(f"{address}?token={server.access.token}", "document.body.dataset.batches === '3'")
    assert page.run("location.href") == address
    assert page.run("document.cookie") == ""


def test_the_server_may_go_and_come(page, serve, tmp_path):
    streams.write(tmp_path, 300, 301)
    batches(page, 301)
    page.run("window.fetch = () => Promise.reject(new Error('gone'))")
    page.wait("document.querySelector('#status').classList.contains('lost')")
    assert json.loads(page.run("JSON.stringify(document.body.dataset.batches)")) == "301"
