"""What a request says of its visitor: IP address, browser, platform, device, country and language.

Data is loaded when it is first needed.
"""
