"""The terminal UI: a screen over a Session. Only what shows it imports Textual; what is shown is made without it."""
