"""Which hosts a page links to."""

from lycosa.urls.linked_hosts import MOST_HOSTS, linked_hosts

BASE = "https://www.example.org/a/b"


def test_hosts_are_counted_in_their_canonical_form() -> None:
    hrefs = [
        *("/x", "y?z", "#top", "?q", "https://www.example.org/"),
        *("http://Other.example/a", "//other.example:8080/b", "https://user@other.example"),
        *("https://bücher.example/", " https:\\\\other.example\\c"),
        *("mailto:a@b.example", "javascript:void(0)", "tel:123", "https://", "http://a b/"),
    ]
    assert linked_hosts(hrefs, BASE) == {
        "www.example.org": 5,
        "other.example": 4,
        "xn--bcher-kva.example": 1,
        "a": 1,
    }


def test_a_page_that_links_to_everything_costs_no_more_than_others() -> None:
    hrefs = [f"https://h{n}.example/" for n in range(5_000)]
    assert len(linked_hosts([*hrefs, "https://h0.example/"], BASE)) == MOST_HOSTS
    assert linked_hosts([*hrefs, "https://h0.example/"], BASE)["h0.example"] == 2
