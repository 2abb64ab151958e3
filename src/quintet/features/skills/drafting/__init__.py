"""Skills drafted from work that comes again and again: what was seen, what is proposed, what became of it."""
