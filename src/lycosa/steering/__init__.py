"""What changes a crawl that runs or rests."""
