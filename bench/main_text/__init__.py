"""Trains and measures the model that finds a page's main text. Not part of the package."""
