"""Commands about Quintet itself."""
