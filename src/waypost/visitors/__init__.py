"""What a request says of its visitor: browser, platform, device and country. Data is loaded when it is first needed."""
