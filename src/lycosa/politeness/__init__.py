"""What sites ask of us and how long they are left alone: robots.txt, delays, retries, addresses.

Pure: values and `now` in, values out.
"""
