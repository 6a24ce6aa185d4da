"""From what the user asks and the keys' frequencies to a route."""
