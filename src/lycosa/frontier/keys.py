"""The keys under which a store keeps what belongs to the whole crawl: who writes each, and what it
means. Owns the names alone; values are text.
"""

SETTINGS_KEY = "settings"  # CrawlSettings as JSON: written by the node that starts or resumes
NODE_KEY = "node"  # what a run was told about its machine; with ":" and a name on a server
DELAYS_KEY = "delays"  # the delays of earlier runs, for `audit`
MAX_PAGES_KEY = "max_pages"  # the page limit of all nodes; 0: none
MAX_PAGES_SET_KEY = "max_pages_set"  # 1: by `lycosa set`: later runs keep it
PAUSED_KEY = "paused"  # JSON of since when, why and by whom the crawl is paused; "": it is not
ORIGINAL_KEY = "original"  # which file the database is, see `original`
CRAWL_KEY = "crawl_id"  # the crawl's own name, which a running crawl holds on its machine
LOST_KEY = "lost:"  # before the name of a node: how many pages lost something, as last seen
MOVED_KEY = "moved_segments"  # segments that the user keeps elsewhere
STARTED_KEY = "started_ms"  # when the crawl began, by the store's clock
STOP_KEY = "stop"  # 1: `lycosa stop` asked all nodes to end; a start sets 0
FINISHED_KEY = "finished"  # 1: nothing was left; whoever queues something sets 0
SEEDS_LOADED_KEY = "seeds_loaded"  # 1: all seeds of all nodes are queued
SEEDS_KEY = "seeds:"  # before a file of seeds: the byte up to which it is queued
SEEDS_RANK_KEY = "seeds:rank"  # the place of the next seed in the order of visits
RULES_KEY = (
    "rules_version"  # grows with every change of a crawl: engines read again what may change
)
EPOCH_KEY = "epoch_ms"  # the moment from which logs count time; none: 1970. A move shifts it
NEWEST_PAGE_KEY = "newest_page"  # the newest id that a page had which was taken back (SQLite)
OPENED_KEY = "opened:"  # before the name of a node: when its supervisor came, 0: it has left
LOADING_KEY = "loading:"  # before the name of a node: when it last queued seeds, 0: it does not
# Two more are written and read in SQL alone: `clock_ms`, the newest moment that the store has seen
# (SQLite), and `wants_domains`, the note of an engine that found nothing to lease (PostgreSQL).
