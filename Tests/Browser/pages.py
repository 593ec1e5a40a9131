"""What the pages of the console have in common."""
import re
import urllib.parse

# Pages to do something once, or of no use as a picture.
LEFT_OUT = re.compile("/console/(assets/|welcome/|sign-out|imports/[0-9]+/rejects|contacts/[0-9]+/data)")


def kind(url):
    """The page's path, with `id` for every part that names one thing of many."""
    path = urllib.parse.urlsplit(url).path.rstrip("/")
    path = re.sub("^(/console/content)/[^/]+", r"\1/id", path)
    return "/".join("id" if re.search(r"[\d.%]", part) else part for part in path.split("/"))
