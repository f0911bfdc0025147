from browser.watching import chromium

__all__ = ["chromium"]
