"""The OpenAPI document, made from the endpoints, their models and their docstrings.

Only `parameters` is imported at start; `document` and what it uses on the first request for the document.
"""
