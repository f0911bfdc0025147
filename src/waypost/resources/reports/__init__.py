"""Reports of abuse: visitors send them from the page about a link, and operators read them."""
