/// Names of crawlers as headers of theirs have them, in lower case.
///
/// Every build takes them from Debian's package `uap-core` if that is installed; without it there are none.
public enum CrawlerNames {}
