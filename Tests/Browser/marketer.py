"""What a marketer does in the console, by mouse and by keys."""
import urllib.parse

TAB, ENTER, ESCAPE = "\ue004", "\ue007", "\ue00c"
PASSWORD = "seven carts roll downhill"


def arrive(browser, path):
    """Waits for the page that a click leads to. `path` is a regular expression."""
    return browser.wait("return document.readyState == 'complete' && location.pathname.match(`^/console${arguments[0]}$`)", path)


def sign_in(browser):
    """Chooses a password on the page of the demo's link."""
    browser.type("input[type=password]", PASSWORD)
    browser.click("main button[type=submit]")
    arrive(browser, "")


def sign_in_again(browser, demo):
    """Signs in with that password."""
    browser.open(f"{demo.url}/console/sign-in")
    owner = next(user["email"] for user in demo.call("GET", "users")["items"] if user["role"] == "owner")
    browser.type("[name=email]", owner)
    browser.type("[name=password]", PASSWORD)
    browser.click("main button[type=submit]")
    arrive(browser, "")


def write(browser, demo, text, has_scripts=True):
    """Writes a sendout to all apps, and waits for a preview for each platform. Returns how many there are."""
    browser.open(f"{demo.url}/console/new-sendout")
    apps = browser.script("return document.querySelectorAll('input[name=appIds]').length")
    for app in range(apps):
        box = f"label:nth-of-type({app + 1}) input[name=appIds]"
        if not browser.script("return document.querySelector(arguments[0]).checked", box):
            browser.click(box)
    browser.type("[name='message.alert']", text)
    if not has_scripts:
        browser.click("button[formaction$='/preview']")
    shown = text.split("}}")[-1]
    return browser.wait("""
        const phones = [...document.querySelectorAll(".phone")];
        return phones.length >= arguments[0] && phones.every(phone => phone.innerText.includes(arguments[1])) && phones.length;
        """, apps, shown)


def send(browser, demo, text, has_scripts=True):
    """Writes, saves, checks and sends, and finds the text on the phones."""
    phones = write(browser, demo, text, has_scripts)
    keys = browser.script("return document.querySelector('[data-keys-help]').hidden")
    assert keys != has_scripts, "JavaScript is on where it should be off, or off where it should be on"
    browser.click("main form > .stack > .row button:not([name])")
    draft = arrive(browser, r"/sendouts/(\d+)/edit")[1]
    written = browser.script("return document.querySelector(`[name='message.alert']`).value")
    assert written == text, f"the draft says {written!r}"
    browser.click("button[name=then]")
    arrive(browser, f"/sendouts/{draft}/check")
    browser.click("form[method=post][action$='/check'] button")
    arrive(browser, f"/sendouts/{draft}/undo")
    browser.open(f"{demo.url}/console/sendouts/{draft}")
    browser.wait("return document.querySelector('main .badge').innerText.toLowerCase() == 'finished'", again=not has_scripts)
    browser.open(demo.phone)
    browser.wait("""
        const lit = [...document.querySelectorAll("[data-phone]")].filter(phone => phone.innerText.includes(arguments[0]));
        return lit.length >= arguments[1];""", text, phones, again=not has_scripts)
    print(f"Sendout {draft} is on {phones} phones: {text}", flush=True)


def erase(browser, demo, original_id):
    """Finds a contact by a filter, and erases it once its original id is typed."""
    demo.call("PUT", f"contacts/{urllib.parse.quote(original_id)}", {"city": "Lund"})
    browser.open(f"{demo.url}/console/contacts?filter=" + urllib.parse.quote(f"originalId = '{original_id}'"))
    browser.click("[data-row] a")
    number = arrive(browser, r"/contacts/(\d+)")[1]
    browser.click("a[href$='/erase']")
    arrive(browser, f"/contacts/{number}/erase")
    browser.type("[name=originalId]", "somebody else")
    browser.click("main button.danger")
    browser.wait("return !!document.querySelector('[name=originalId][aria-invalid=true]')")
    browser.send(browser.element("[name=originalId]") + "/clear")
    browser.type("[name=originalId]", original_id)
    browser.click("main button.danger")
    arrive(browser, "/contacts")
    browser.wait("return document.body.innerText.includes(arguments[0])", f"Contact {number} is erased.")
    print(f"Contact {number} is erased", flush=True)


def skip(browser):
    """What keeps the keyboard from the page's content."""
    browser.script("document.activeElement.blur()")
    browser.press(TAB)
    if not browser.script("return document.activeElement.matches('.skip')"):
        return ["does not begin with the link that skips the navigation"]
    browser.press(ENTER)
    return [] if browser.script("return document.activeElement.id == 'main'") else ["is not reached by its skip link"]


def use_keys(browser, demo):
    """Goes through the console without a mouse."""
    browser.open(f"{demo.url}/console")
    browser.press("?")
    browser.wait("return document.querySelector('dialog[open]')?.getAttribute('aria-label') == 'Keys'")
    browser.press(ESCAPE)
    browser.wait("return !document.querySelector('dialog')")
    browser.press("g", "s")
    arrive(browser, "/sendouts")
    row = "return [...document.querySelectorAll('[data-row]')].findIndex(row => row.contains(document.activeElement))"
    places = []
    for key in "jjk":
        browser.press(key)
        places.append(browser.script(row))
    assert places == [0, 1, 0], f"j, j and k lead to rows {places}"
    browser.press(ENTER)
    arrive(browser, r"/sendouts/\d+")
    print("Keys lead through the console", flush=True)
