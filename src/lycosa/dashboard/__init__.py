"""What others see of a crawl over HTTP: figures for Prometheus, and a page for people."""
