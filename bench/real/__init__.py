"""Parts of bench/real_files.py: HTML files of Debian packages, and the server that shows them."""
