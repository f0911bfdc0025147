"""Pages of links for visitors who are not redirected: bots, and who asks for a link's page."""
