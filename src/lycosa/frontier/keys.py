"""The keys under which a store keeps what belongs to the whole crawl: who writes each, and what it
means. Owns the names alone; values are text.
"""

SETTINGS_KEY = "settings"  # CrawlSettings as JSON: written by the node that starts or resumes
NODE_KEY = "node"  # what a run was told about its machine; with ":" and a name on a server
DELAYS_KEY = "delays"  # the delays of earlier runs, for `audit`
MAX_PAGES_KEY = "max_pages"  # on a server: the page limit of all nodes
ORIGIN_KEY = "original"  # which file the database is, see `original`
CRAWL_KEY = "crawl_id"  # the crawl's own name, which a running crawl holds on its machine
LOST_KEY = "lost:"  # before the name of a node: how many pages lost something, as last seen
MOVED_KEY = "moved_segments"  # segments that the user keeps elsewhere
