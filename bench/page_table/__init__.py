"""Parts of bench/pages.py: made-up rows of `pages`, in both stores and in segments."""
