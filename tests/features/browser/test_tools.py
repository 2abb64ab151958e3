"""The browser tools end to end: a real Chromium on a site of the tests' own."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.gate import Verdict
from tests.features.browser.browser_site import Site, serving
from tests.features.browser.browsing import Browsing, browsing
from tests.tools.calling import BUILD, Caller

pytestmark = pytest.mark.system("chromium")


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browsing]:
    with browsing(tmp_path_factory.mktemp("web")) as tools:
        yield tools


# ── what a page looks like


def test_a_page_is_lines_of_text_with_its_elements_numbered(web: Browsing, site: Site) -> None:
    assert web.lines("navigate", url=site("/"))[0] == f"opened {site('/')}"
    link = web.id('link "the form"')
    assert web.last.splitlines()[-7:] == [
        "# Welcome",
        f'Read [{link} link "the form" → /form] first, then go on.',
        "- one",
        "- two",
        "| Name | Age",
        "| Ada | 36",
        '(image "a dot")',
    ]


def test_fields_show_their_names_values_and_states_but_no_password(web: Browsing, site: Site) -> None:
    lines = [line.partition(" ")[2] for line in web.lines("navigate", url=site("/form"))[2:-1]]
    assert lines == [
        'textbox "User name" = "ada" required]',
        'textbox "Password" (password) filled]',
        'checkbox "Keep me signed in" checked]',
        'combobox "Country" options: 0 "Austria" selected, 1 "Belgium", 2 "Chile" disabled]',
        'textbox "Born" (date) empty]',
        'textbox "Note" empty]',
    ]
    assert 'button "Later" disabled]' in web.last
    assert "hunter2" not in web.last


def test_an_element_keeps_its_id_and_no_other_page_gives_it_away_again(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    before = web.id('button "Send"')
    assert f'[{before} button "Send"]' in web.ok("view")
    web.ok("navigate", url=site("/dialogs"))
    assert int(web.id('button "Alert"')) > int(before)
    said = web.fails("click", element_id=before)
    assert said == f"element {before} is not on the page now; browser_view shows the current elements with their ids"


def test_shadow_roots_and_their_slots_are_seen_through(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/shadow"))
    assert "## In the shadow\nslotted words [" in web.last
    web.click('button "Shadow button"')
    assert 'button "pressed"' in web.ok("view")


def test_frames_have_ids_of_their_own_and_can_be_acted_in(web: Browsing, site: Site) -> None:
    lines = web.lines("navigate", url=site("/frames"))
    assert [line.split(" ")[0] for line in lines if "frame f" in line] == ["frame", "", "frame"]
    assert sum("inside" in line for line in lines) == 1, "the hidden frame is not looked into"
    assert web.id('button "Press"').startswith("f")
    web.click('button "Press"')
    assert 'button "done"' in web.last
    web.ok("view")
    web.click('button "In its own"')
    assert 'button "pressed"' in web.last
    web.ok("view")
    web.click('link "deep down"')
    assert 'textbox "User name"' in web.ok("view")


def test_what_pages_make_themselves_of_plain_elements_can_be_used(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/editor"))
    for shown in (
        'textbox "Page" = "old"]',
        'clickable "A clickable box"]',
        'checkbox "Subscribed" checked]',
        'disclosure "More" collapsed]',
        "button .icon-close]",
    ):
        assert shown in web.last
    assert "folded text" not in web.last
    web.click("clickable")
    assert 'clickable "clicked"' in web.last
    web.ok("view")
    web.click('disclosure "More"')
    assert "folded text" in web.last
    web.ok("view")
    web.ok("type", element_id=web.id('textbox "Page"'), content="new words")
    assert 'textbox "Page" = "new words"' in web.last


def test_fifty_thousand_elements_stay_within_a_bounded_view(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/huge"))
    assert web.ok("console", content="document.querySelectorAll('*').length > 50000") == "true"
    lines = web.lines("view")
    assert len(web.last) < 16_000
    assert 'button "Button 0"' in web.last
    assert lines[-1].endswith(" lines more below: browser_scroll down)")
    hidden = int(lines[-1].split()[1])
    shown = sum("] number " in line for line in lines)
    assert hidden + shown == 25_000
    assert "further up: browser_scroll up)" in web.ok("scroll", direction="bottom")
    assert 'button "Button 24999"' in web.last
    assert len(web.last) < 16_000


def test_more_than_fits_on_one_screen_is_said(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/crowded"))
    assert len(web.last) < 16_000
    shown = web.last.count(" button ")
    assert f"({3000 - shown} lines more on screen, too many to show" in web.last


def test_a_long_text_is_read_on_by_scrolling(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/text"))
    assert "word0 " in web.last and "word19999" not in web.last
    assert "more below: browser_scroll down" in web.last
    assert "word19999" in web.ok("scroll", direction="bottom")


def test_what_is_below_the_screen_comes_after_it_and_can_be_clicked(web: Browsing, site: Site) -> None:
    lines = web.lines("navigate", url=site("/long"))
    assert lines[-3:-1] == ["top of it", "── below, not on screen yet"]
    web.click('button "At the bottom"')
    assert 'button "found"' in web.ok("view")


def test_what_a_box_hides_is_counted_and_shown_by_scrolling_it(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/box"))
    assert "row 0\n" in web.last and "row 50" not in web.last and "folded away" not in web.last
    box = web.last.rpartition("[")[2].split()[0]
    assert f"(94 more inside [{box} scrollable]" in web.last
    assert "row 99" in web.ok("scroll", direction="bottom", element_id=int(box))


def test_where_only_a_part_of_the_page_scrolls_that_part_is_scrolled(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/app"))
    assert "item 199" not in web.last
    assert "item 199" in web.ok("scroll", direction="bottom")
    assert "does not scroll further down" in web.ok("scroll", direction="down")


# ── acting


def test_a_form_is_filled_in_and_sent(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    said = web.lines("type", element_id=web.id('textbox "User name"'), content="grace")
    assert said[0].startswith("typed 5 characters into [")
    assert [line[:2] for line in said[2:]] == ["Ch", "- ", "+ "], "only what changed is shown"
    web.ok("view")
    web.ok("type", element_id=web.id('textbox "Born"'), content="1906-12-09")
    web.ok("view")
    web.ok("type", element_id=web.id('textbox "Note"'), content="two\nlines")
    web.ok("view")
    assert 'selected 1 "Belgium"' in web.ok("select_option", index=1)
    web.ok("view")
    web.click('checkbox "Keep me signed in"')
    web.ok("view")
    web.click('button "Send"')
    assert "Thank you" in web.last
    body = next(body for method, _, body in reversed(site.asked) if method == "POST")
    assert body == b"user=grace&password=hunter2&country=Belgium&born=1906-12-09&note=two%0D%0Alines"


def test_enter_is_pressed_and_keys_are_named_as_people_name_them(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/keys"))
    web.ok("press_key", content="ctrl+a Esc down")
    assert "C-a" in web.last and "Escape" in web.last and "ArrowDown" in web.last
    web.ok("type", content="hi", press_enter=True)
    web.ok("view")
    assert 'textbox #in = "hi" focused' in web.last and web.last.endswith("h i Enter")
    said = web.fails("press_key", content="Hyper")
    assert said.startswith('"Hyper" is not a key. Examples of keys: Enter, Escape')


def test_a_point_of_the_screen_is_clicked_and_typed_at(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/keys"))
    assert web.lines("type", content="there", coordinates=[40, 20])[0] == "typed 5 characters at 40, 20"
    web.ok("navigate", url=site("/pictures"))
    assert web.lines("click", coordinates=[20, 12])[0] == "clicked at 20, 12"
    assert "rgb(0, 0, 255)" in web.ok("console", content="getComputedStyle(document.body).backgroundColor")
    assert web.fails("click", coordinates=[20]).startswith("coordinates are x and y")
    assert web.fails("click").startswith("element_id or coordinates: which element?")


def test_what_shows_only_under_the_mouse_is_seen(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/hover"))
    assert "Hidden entry" not in web.last
    assert "Hidden entry" in web.ok("move_mouse", coordinates=[20, 15])


def test_why_an_element_cannot_be_clicked_is_said(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/form"))
    later = web.id('button "Later"')
    assert web.fails("click", element_id=later) == f'[{later} button "Later" disabled] is disabled'
    country = web.id("combobox")
    assert "use browser_select_option to choose from it" in web.fails("click", element_id=country)
    assert web.fails("select_option", index=7, element_id=country) == "index = 7: it has 3 options, numbered from 0"
    assert "is not a select field" in web.fails("select_option", index=0, element_id=web.id('textbox "User name"'))
    assert "a date 2026-01-31" in web.fails("type", content="soon", element_id=web.id('textbox "Born"'))
    assert web.fails("click", element_id="the button").startswith(
        'element_id "the button": expected an id from browser_view'
    )
    web.ok("navigate", url=site("/covered"))
    assert 'is covered by <div class="cover"' in web.fails("click", element_id=web.id('button "Under"'))


# ── dialogs, files, tabs


def test_an_alert_is_accepted_and_told(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/dialogs"))
    assert '(alert dialog: "Mind the gap" (accepted))' in web.click('button "Alert"')
    assert "alerted on" in web.ok("view")


def test_a_question_waits_for_its_answer(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/dialogs"))
    delete = web.id('button "Delete"')
    asked = 'a confirm dialog is open: "Really delete?". browser_press_key Enter accepts it, Escape dismisses it'
    assert web.lines("click", element_id=delete) == [f"({asked})"]
    assert asked in web.fails("view"), "nothing else can be done meanwhile"
    assert 'dismissed the confirm "Really delete?"' in web.ok("press_key", content="Escape")
    assert "kept" in web.last
    web.ok("click", element_id=delete)
    web.ok("press_key", content="Enter")
    assert "deleted" in web.last
    ask = web.ok("view") and web.id('button "Ask"')
    assert "browser_type answers it with text" in web.ok("click", element_id=ask)
    assert 'answered the prompt "Your name?"' in web.ok("type", content="Ada")
    assert "hello Ada" in web.last
    web.ok("click", element_id=ask)
    assert f"opened {site('/')}" in web.ok("navigate", url=site("/")), "going elsewhere dismisses it"
    assert '(dismissed the prompt "Your name?")' in web.last


def test_a_prompt_can_be_answered_with_nothing(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/"))
    web.ok("console", content="setTimeout(() => { window.said = prompt('Name?', 'Ada') })")
    while not web.browser._tabs._tabs[0].dialog:
        web.loop.run_until_complete(asyncio.sleep(0.02))
    web.ok("type", content="")
    assert web.ok("console", content="JSON.stringify(window.said)") == '""'


def test_a_page_that_wants_to_be_asked_before_it_is_left_is_left(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/leave"))
    web.click('button "Touch"')
    assert "# Welcome" in web.ok("navigate", url=site("/"))


def test_files_of_the_project_are_uploaded_and_no_others(web: Browsing, site: Site, tmp_path: Path) -> None:
    (web.root / "me.txt").write_text("it is me")
    (web.root / "b.txt").write_text("bee")
    (web.root / ".env").write_text("KEY=secret")
    (web.root / "way").unlink(missing_ok=True)
    (web.root / "way").symlink_to("/etc/hostname")
    web.ok("navigate", url=site("/upload"))
    assert web.fails("select_file", content="me.txt").startswith(
        "the page does not ask for a file now: use browser_click"
    )
    assert "(the page asks for a file: use browser_select_file)" in web.click('file picker "Avatar" empty')
    assert "outside the project" in web.fails("select_file", content="/etc/hostname")
    assert "outside the project" in web.fails("select_file", content="way")
    assert "may contain secrets" in web.fails("select_file", content=".env")
    assert "the page accepts one file" in web.fails("select_file", content="me.txt\nb.txt")
    assert "gave me.txt to the page" in web.ok("select_file", content="me.txt")
    assert 'file picker "Avatar" holds "me.txt"' in web.ok("view")
    web.click('file picker "More"')
    web.ok("select_file", content="me.txt\nb.txt")
    assert 'holds "me.txt", "b.txt"' in web.ok("view")
    web.click('button "Upload"')
    sent = next(body for method, _, body in reversed(site.asked) if method == "POST")
    assert b"it is me" in sent and b"bee" in sent and b"KEY" not in sent


def test_a_picker_that_is_hidden_is_given_its_file(web: Browsing, site: Site) -> None:
    (web.root / "me.txt").write_text("it is me")
    web.ok("navigate", url=site("/one-picker"))
    web.ok("select_file", content="me.txt")
    assert "me.txt" in web.ok("view").splitlines()[-1]


def test_a_download_is_kept_with_the_outputs_under_a_plain_name(web: Browsing, site: Site) -> None:
    said = web.ok("navigate", url=site("/download"))
    assert f"{site('/download')} is a download" in said
    path = Path(said.partition("6,000 bytes: ")[2].partition(")")[0])
    assert path.parent == web.outputs and path.suffix == ".csv" and "/" not in path.name
    assert path.read_bytes() == b"1,2,3\n" * 1000


def test_a_new_tab_is_told_and_used_by_its_number(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/popup"))
    told = "\n".join(web.click('button "Open"'))
    while "a new tab opened: tab_idx " not in told:  # a slow machine may tell it with a later call
        told += web.ok("console")
    opened = int(told.partition("a new tab opened: tab_idx ")[2].partition(")")[0])
    assert 'textbox "User name"' in web.ok("view", tab_idx=opened)
    assert f"(other tabs: 0 {site('/popup')})" in web.last
    told = web.ok("console", content="window.close()")
    while f"tab {opened} was closed" not in told:
        told += web.ok("console")
    assert f"tab_idx = {opened}: no such tab" in web.fails("view", tab_idx=opened)
    assert "Popup" in web.ok("view", tab_idx=0)
    third = opened + 1
    assert f"tab {third} · Home" in web.ok("navigate", url=site("/"), tab_idx=third)
    web.ok("console", content="window.close()", tab_idx=third)


# ── the rest


def test_the_console_is_read_once_and_says_where(web: Browsing, site: Site) -> None:
    web.ok("console")
    said = web.ok("navigate", url=site("/console"))
    assert "(1 error in the console: browser_console shows them)" in said
    lines = web.lines("console")
    assert f"log: hello {{a: 1}} ({site('/console')}:1)" in lines
    assert f"warning: careful ({site('/console')}:1)" in lines
    assert "error: Error: it broke" in lines
    assert web.ok("console") == "(nothing new in the console)"


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("6 * 7", "42"),
        ("document.title", "Strict"),
        ("const a = [1, {b: 2}]; a.length", "2"),
        ("(() => 'called')()", "called"),
        ("new Promise((done) => setTimeout(() => done('late'), 10))", "late"),
        ("undefined", "undefined"),
    ],
)
def test_an_expression_is_evaluated_also_where_a_policy_forbids_it(
    web: Browsing, site: Site, expression: str, value: str
) -> None:
    web.ok("navigate", url=site("/strict"))
    assert web.ok("console", content=expression) == value


def test_an_expression_that_fails_says_why_and_a_long_answer_is_cut(web: Browsing, site: Site) -> None:
    assert web.fails("console", content="nowhere.at.all") == "ReferenceError: nowhere is not defined"
    said = web.ok("console", content="'x'.repeat(50000)")
    assert len(said) < 11_000 and said.endswith("… (40000 more characters)")
    web.ok("navigate", url=site("/"))
    assert web.ok("console", content="document.querySelector('h1')") == "<h1>Welcome</h1>"
    assert [web.ok("console", content=value) for value in ("[1]", "null", "void 0", "0 / 0", "() => 'a b'")] == (
        ["[\n 1\n]", "null", "undefined", "NaN", "a b"]
    )
    web.ok("console", content="location.href = '/form'")
    assert 'button "Send"' in web.ok("view")


def test_a_picture_of_the_screen_is_a_file(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/pictures"))
    path, size = web.ok("screenshot").rsplit(" ", 1)
    assert size == "(1280×800)"
    assert Path(path).parent == web.outputs
    assert Path(path).read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_the_screen_is_shown_to_the_model(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/pictures"))
    result = web("screenshot")
    (image,) = result.images
    path = Path(result.content.rsplit(" ", 1)[0])
    assert (image.media_type, image.size) == ("image/png", path.stat().st_size)


def test_a_phone_has_a_narrow_screen_touch_and_another_name(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/mobile"))
    assert web.last.endswith("1280 wide, touch false, phone false")
    assert web.ok("set_mobile", enabled=True).endswith("412 wide, touch true, phone true")
    assert web.ok("screenshot").endswith("(412×915)")
    assert web.ok("set_mobile", enabled=False).endswith("1280 wide, touch false, phone false")


# ── where it may go


def test_a_file_of_the_project_is_a_page_with_its_parts(web: Browsing) -> None:
    (web.root / "site").mkdir(exist_ok=True)
    (web.root / "site/index.html").write_text(
        "<title>Local</title><script src=part.js></script><p id=said></p><script>said.textContent = part</script>"
        "<a href='file:///etc/hostname'>out</a><iframe src='file:///etc/hostname'></iframe>"
    )
    (web.root / "site/part.js").write_text("const part = 'from a file'")
    (web.root / ".env").write_text("KEY=secret-value")
    for url in (f"file://{web.root}/site/index.html", f"{web.root}/site"):
        assert "from a file" in web.ok("navigate", url=url)
    assert f" · Local · file://{web.root}/site/index.html" in web.last
    web.ok("click", element_id=web.id('link "out"'))
    web.ok("view")
    assert Path("/etc/hostname").read_text().strip() not in web.last.replace(str(web.root), "")
    assert f"file://{web.root}/site/index.html" in web.last, "no page leads out of the project"
    probe = "fetch('/.env').then((r) => r.text()).catch(() => 'refused')"
    assert "secret-value" not in web.ok("console", content=probe)
    said = web.ok("console", content="fetch('/site/part.js').then(() => 'read').catch(() => 'refused')")
    assert said.startswith("refused")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/hostname", "outside the project"),
        ("/etc/hostname", "outside the project"),
        ("file://otherhost/x.html", "outside the project"),
        ("chrome://settings", "chrome: addresses are refused"),
        ("javascript:alert(1)", "javascript: addresses are refused"),
        ("view-source:http://localhost", "view-source: addresses are refused"),
        ("data:text/html,hi", "data: addresses are refused"),
        ("http://169.254.169.254/latest/meta-data", "169.254.169.254 is a link-local address: not fetched"),
        ("10.1.2.3:8080/x", "10.1.2.3 is a private address: not fetched"),
        ("http://[fd00::1]/", "fd00::1 is a private address: not fetched"),
        ("http://127.0.0.1:1/", "127.0.0.1:1/: browsers refuse that port"),
        ("http://127.0.0.1:65000/", "no server is listening there; start the server first"),
        ("http://nowhere.invalid/", "nowhere.invalid: no such host"),
        ("http://", "http://: this has no host"),
        ("", "expected an address"),
    ],
)
def test_where_it_cannot_go_is_said(web: Browsing, url: str, said: str) -> None:
    assert said in web.fails("navigate", url=url)


def test_a_path_is_opened_as_it_is_written(web: Browsing) -> None:
    (web.root / "sub").mkdir()
    (web.root / "sub" / "50%20#1.html").write_text("<title>Odd</title>")
    (web.root / "sub" / "plain.html").write_text("<title>Plain</title>")
    for path in (f"{web.root}/sub/50%20#1.html", "sub/50%20#1.html", "./sub/50%20#1.html"):
        assert " · Odd · file://" in web.ok("navigate", url=path)
    assert "Plain" in web.ok("navigate", url="sub/plain.html")
    assert "No such file" in web.fails("navigate", url="plain.html")
    (web.root / ".env").write_text("KEY=hunter2")
    assert "hunter2" not in web.fails("navigate", url=f"{web.root}/%2eenv")


def test_no_spelling_of_file_gets_a_page_out_of_the_project(web: Browsing, tmp_path: Path) -> None:
    outside = tmp_path / "outside.html"
    outside.write_text("<p>hunter2</p>")
    (web.root / "frame.html").write_text(f"<iframe src='file://{outside}'></iframe>")
    for scheme in ("file", "FILE", "File"):
        assert "hunter2" not in web.ok("navigate", url=f"{scheme}://{web.root}/frame.html")
    assert web.ok("console", content="location.protocol") == "http:"


def test_a_long_address_takes_no_room_from_the_page(web: Browsing, site: Site) -> None:
    web.ok("navigate", url=site("/"))
    web.ok("console", content="location.hash = 'x'.repeat(50_000)")
    inner = "`<p>inside</p>${'y'.repeat(50_000)}`"
    frame = f"Object.assign(document.createElement('iframe'), {{src: 'data:text/html,' + {inner}}})"
    web.ok("console", content=f"new Promise((d) => {{const f = {frame}; f.onload = d; document.body.prepend(f)}})")
    said = web.ok("view")
    assert len(said) < 15_000 and "# Welcome" in said and "inside" in said


def test_an_error_of_the_server_is_shown_with_its_page_and_redirects_are_followed(web: Browsing, site: Site) -> None:
    assert "(HTTP 404 Not Found)" in web.ok("navigate", url=site("/missing"))
    assert "no such page" in web.last
    assert f"A form · {site('/form')}" in web.ok("navigate", url=site("/away"))
    assert "# Welcome" in web.ok("navigate", url=f"localhost:{site.port}")


def test_looking_is_fetch_and_acting_is_network(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    tools = Caller(tmp_path / "project")
    for profile in PermissionProfile:
        axes = structs.replace(BUILD, permission_profile=profile)
        asked = Verdict.ALLOW if profile is PermissionProfile.UNRESTRICTED else Verdict.ASK
        for name in ("view", "scroll", "screenshot", "console", "move_mouse", "set_mobile", "navigate", "restart"):
            more = {"scroll": {"direction": "up"}, "set_mobile": {"enabled": True}}.get(name, {})
            more = {"url": "https://example.com"} if name in ("navigate", "restart") else more
            tells = name in ("scroll", "move_mouse", "set_mobile") or "url" in more  # nobody has given it that address
            strict = tells and profile is PermissionProfile.RESTRICTED
            assert tools.verdict(f"browser_{name}", axes, **more) is (Verdict.ASK if strict else Verdict.ALLOW)
        for name, more in {
            "click": {},
            "type": {"content": "x"},
            "press_key": {"content": "Enter"},
            "select_option": {"index": 0},
            "select_file": {"content": "a.txt"},
            "console": {"content": "1"},
        }.items():
            assert tools.verdict(f"browser_{name}", axes, **more) is asked
        assert tools.verdict("browser_select_file", axes, content="a.txt\n.env") is Verdict.DENY
        assert tools.verdict("browser_navigate", axes, url="file:///etc/passwd") is Verdict.DENY
        assert tools.verdict("browser_navigate", axes, url="a.html") is Verdict.ALLOW
        composed = Verdict.ASK if profile is PermissionProfile.RESTRICTED else Verdict.ALLOW
        assert tools.verdict("browser_navigate", axes, url="a.html", network=True) is composed
        assert tools.verdict("browser_navigate", axes, url="/etc/passwd", network=True) is Verdict.DENY
